/** Html of the kernel, which is safe already, held to the few tags and attributes it is made of. */

const TAGS = new Set(
  (
    'a,blockquote,br,code,del,details,div,em,h1,h2,h3,h4,h5,h6,hr,li,ol,p,pre,s,span,strong,' +
    'summary,table,tbody,td,th,thead,tr,ul'
  ).split(',')
);
const LINK = /^(https?:\/\/|mailto:)/i;
const ATTRIBUTES: { readonly [name: string]: RegExp } = {
  href: LINK,
  start: /^\d+$/,
  style: /^text-align:(left|right|center)$/
};

/** The parsed html without anything else; a fragment that was never part of the page. */
export function clean(html: string): DocumentFragment {
  const template = document.createElement('template');
  template.innerHTML = html;
  for (const el of template.content.querySelectorAll('*')) {
    if (!TAGS.has(el.localName)) {
      el.remove();
      continue;
    }
    for (const { name, value } of [...el.attributes]) {
      if (!ATTRIBUTES[name]?.test(value)) {
        el.removeAttribute(name);
      }
    }
    if (el.localName === 'a') {
      el.setAttribute('target', '_blank');
      el.setAttribute('rel', 'noopener noreferrer');
    }
  }
  return template.content;
}
