/** Where this browser keeps in which kernels it saw the extension, and of how many. */
const REMEMBERED = 'shiro:kernels';
const KERNELS = 100;

/** Whether the extension was loaded in a kernel when that was last seen. */
export function isRemembered(kernel: string): boolean {
  return loadedIn().includes(kernel);
}

export function remember(kernel: string, yes: boolean): void {
  const others = loadedIn().filter(each => each !== kernel);
  const kernels = yes ? [kernel, ...others].slice(0, KERNELS) : others;
  localStorage.setItem(REMEMBERED, kernels.join(' '));
}

/** The ids of those kernels, the newest first. */
function loadedIn(): string[] {
  return (localStorage.getItem(REMEMBERED) ?? '').split(' ');
}
