import type * as nbformat from '@jupyterlab/nbformat';
import type { PartialJSONValue } from '@lumino/coreutils';

/** Characters of one text of one output. */
const TEXT = 20_000;
/** Characters of one image in base64, where images are asked for. */
const IMAGE = 5_000_000;
/** Outputs of one cell. */
const OUTPUTS = 100;

/**
 * Outputs as they may cross the control channel, which interrupts and shutdowns use as well.
 *
 * A long text is cut in its middle, with the count of what is gone. An image, and what else
 * cannot be cut, becomes `{mime, bytes}`; with `images`, images stay. Of more than a hundred
 * outputs the first and the last fifty are kept, with a line between them that says so.
 */
export function bounded(outputs: nbformat.IOutput[], images = false): nbformat.IOutput[] {
  const each = (output: nbformat.IOutput) => boundedOutput(output, images);
  const dropped = outputs.length - OUTPUTS;
  if (dropped <= 0) {
    return outputs.map(each);
  }
  const text = `[… ${dropped.toLocaleString('en')} outputs left out …]\n`;
  return [
    ...outputs.slice(0, OUTPUTS / 2).map(each),
    { output_type: 'stream', name: 'stdout', text },
    ...outputs.slice(-OUTPUTS / 2).map(each)
  ];
}

function boundedOutput(output: nbformat.IOutput, images: boolean): nbformat.IOutput {
  switch (output.output_type) {
    case 'stream':
      return { ...output, text: cut(joined(output.text)) };
    case 'error':
      return {
        ...output,
        evalue: cut(joined(output.evalue)),
        traceback: [cut(joined(output.traceback, '\n'))]
      };
    default: {
      const data = Object.entries((output.data ?? {}) as Record<string, PartialJSONValue>);
      return {
        ...output,
        metadata: {},
        data: Object.fromEntries(
          data.map(([mime, value]) => [mime, boundedValue(mime, value, images)])
        )
      };
    }
  }
}

function boundedValue(mime: string, value: PartialJSONValue, images: boolean): PartialJSONValue {
  if (mime.startsWith('text/')) {
    return cut(joined(value));
  }
  const image = mime.startsWith('image/');
  const length = typeof value === 'string' ? value.length : JSON.stringify(value).length;
  if (image ? images && length <= IMAGE : length <= TEXT) {
    return value;
  }
  return { mime, bytes: size(mime, joined(value)) };
}

/** Bytes of what the value stands for: the file where it is base64, else the text. */
function size(mime: string, text: string): number {
  const base64 = /^(image|audio|video)\/(?!svg)|^application\/pdf$/.test(mime);
  return base64 ? Math.floor((text.replace(/[\s=]/g, '').length * 3) / 4) : new Blob([text]).size;
}

/** Head and tail of a text; a pair of UTF-16 units is never split. */
export function cut(text: string, limit = TEXT): string {
  if (text.length <= limit) {
    return text;
  }
  const head = text.slice(0, limit / 2).replace(/[\ud800-\udbff]$/, '');
  const tail = text.slice(-limit / 2).replace(/^[\udc00-\udfff]/, '');
  const gone = text.length - head.length - tail.length;
  return `${head}\n[… ${gone.toLocaleString('en')} characters left out …]\n${tail}`;
}

/** A text as the format stores it: one string, or a list of lines. */
function joined(value: unknown, between = ''): string {
  if (Array.isArray(value)) {
    return value.join(between);
  }
  return typeof value === 'string' ? value : JSON.stringify(value ?? '');
}
