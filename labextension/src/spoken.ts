import type { Kernel } from '@jupyterlab/services';

/**
 * The language that a kernel speaks. A restart leaves what is known of a kernel unsettled for good,
 * and puts something else in its place, so that is looked at anew each `patience` milliseconds.
 */
export async function spoken(
  kernel: Kernel.IKernelConnection,
  patience: number
): Promise<string> {
  for (;;) {
    const late = new Promise<null>(resolve => setTimeout(() => resolve(null), patience));
    const info = await Promise.race([kernel.info, late]);
    if (info || kernel.isDisposed) {
      return info?.language_info.name ?? '';
    }
  }
}
