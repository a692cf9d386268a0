// What we do within a page. It runs in a world of its own: the page sees the same elements but none of this, and what it
// does to built-in objects changes nothing here. Everything it gives back is limited in length.
(() => {
  const MAX_VISITED = 200_000;
  const MAX_STYLED = 5_000;
  const INTERACTIVE =
    'a[href],button,input:not([type=hidden]),select,textarea,summary,label[for],[contenteditable=""],' +
    '[contenteditable=true],[onclick],[role=button],[role=link],[role=checkbox],[role=radio],[role=tab],' +
    '[role=menuitem],[role=option],[role=switch],[role=combobox],[role=textbox],[tabindex]:not([tabindex="-1"])';

  const short = (text, limit) => {
    const words = String(text ?? '').slice(0, limit * 20).replace(/\s+/g, ' ').trim();
    return words.length > limit ? words.slice(0, limit - 1) + '…' : words;
  };
  const isVisible = (element) =>
    element.checkVisibility?.({ visibilityProperty: true, opacityProperty: false }) ?? true;

  // All elements in the order of the page, those in open shadow roots and in frames of the same origin included.
  function* elements() {
    const open = [document.documentElement];
    for (let visited = 0; open.length && visited < MAX_VISITED; visited++) {
      const element = open.pop();
      if (!element) continue;
      yield element;
      let inside = [...element.children];
      if (element.shadowRoot) inside = [...element.shadowRoot.children, ...inside];
      if (element.localName === 'iframe') {
        try {
          if (element.contentDocument) inside = [element.contentDocument.documentElement];
        } catch {}
      }
      for (let i = inside.length - 1; i >= 0; i--) open.push(inside[i]);
    }
  }

  const labelOf = (element) =>
    short(
      element.innerText ||
        (!['password', 'checkbox', 'radio', 'select-one'].includes(element.type) && element.value) ||
        element.getAttribute('aria-label') ||
        element.labels?.[0]?.innerText ||
        element.title ||
        element.alt ||
        element.querySelector?.('img[alt]')?.alt ||
        element.name,
      100
    );

  const describe = (element, index) => {
    const seen = { index, tag: element.localName, text: labelOf(element) };
    const put = (name, value) => {
      if (value) seen[name] = value;
    };
    if (element.localName === 'input') put('type', element.type);
    put('role', short(element.getAttribute('role'), 20));
    put('placeholder', short(element.placeholder, 100));
    if (element.localName === 'a') put('href', short(element.href, 200));
    if (element.checked) seen.checked = true;
    if (element.disabled) seen.disabled = true;
    if (element.localName === 'select') {
      seen.text = short(element.selectedOptions[0]?.text, 100);
      seen.options = [...element.options].slice(0, 20).map((option) => short(option.text, 50));
    }
    return seen;
  };

  const isPointed = (element) =>
    getComputedStyle(element).cursor === 'pointer' &&
    (!element.parentElement || getComputedStyle(element.parentElement).cursor !== 'pointer');

  const state = (limit) => {
    const found = [];
    let visited = 0;
    for (const element of elements()) {
      visited++;
      if (!element.matches(INTERACTIVE) && !(visited < MAX_STYLED && isPointed(element))) continue;
      const box = element.getBoundingClientRect();
      if (box.width >= 1 && box.height >= 1 && isVisible(element)) found.push(element);
    }
    globalThis.deftElements = found.slice(0, limit);
    const root = document.scrollingElement ?? document.documentElement;
    return {
      ...where(),
      interactive_elements: globalThis.deftElements.map(describe),
      left_out: found.length - globalThis.deftElements.length,
      viewport: { width: innerWidth, height: innerHeight },
      page: { width: root.scrollWidth, height: root.scrollHeight },
      scroll: { x: Math.round(scrollX), y: Math.round(scrollY) },
    };
  };

  const find = (index) => {
    const element = globalThis.deftElements?.[index];
    return element?.isConnected ? element : undefined;
  };

  // Where to press the mouse for an element, in the coordinates of the whole view.
  const place = (element) => {
    element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    const box = element.getClientRects()[0] ?? element.getBoundingClientRect();
    let x = box.x + box.width / 2;
    let y = box.y + box.height / 2;
    const hit = element.getRootNode().elementFromPoint(x, y);
    const free = hit && (hit === element || element.contains(hit) || hit.contains(element));
    for (let view = element.ownerDocument.defaultView; view?.frameElement; view = view.parent) {
      const frame = view.frameElement.getBoundingClientRect();
      x += frame.x + view.frameElement.clientLeft;
      y += frame.y + view.frameElement.clientTop;
    }
    return { x, y, covered: !free };
  };

  const click = (index) => {
    const element = find(index);
    if (!element) return { outcome: 'missing' };
    if (element.disabled) return { outcome: 'disabled' };
    if (element.localName === 'select') return { outcome: 'select' };
    if (element.localName === 'input' && element.type === 'file') return { outcome: 'file' };
    const link = element.closest('a[href]');
    return { outcome: 'at', ...place(element), href: link ? link.href.slice(0, 4000) : null };
  };

  // For what the mouse cannot reach because something lies over it.
  const clickAnyway = (index) => find(index)?.click();

  const announce = (element) => {
    element.dispatchEvent(new Event('input', { bubbles: true }));
    element.dispatchEvent(new Event('change', { bubbles: true }));
  };

  const choose = (element, text) => {
    const wanted = text.trim();
    const options = [...element.options];
    const option =
      options.find((option) => option.text.trim() === wanted || option.value === wanted) ??
      options.find((option) => option.text.toLowerCase().includes(wanted.toLowerCase()));
    if (!option) return { outcome: 'no_option', options: options.slice(0, 50).map((o) => short(o.text, 50)) };
    element.value = option.value;
    announce(element);
    return { outcome: 'set', text: short(option.text, 100) };
  };

  const SET = ['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range'];
  const NOT_TYPED = ['checkbox', 'radio', 'button', 'submit', 'reset', 'image', 'file'];

  // Makes an element ready for text that replaces what is in it.
  const type = (index, text) => {
    const element = find(index);
    if (!element) return { outcome: 'missing' };
    if (element.disabled || element.readOnly) return { outcome: 'disabled' };
    if (element.localName === 'select') return choose(element, text);
    const isInput = element.localName === 'input';
    if (isInput && SET.includes(element.type)) {
      element.value = text.trim();
      announce(element);
      return { outcome: 'set', text: element.value };
    }
    const isText = (isInput && !NOT_TYPED.includes(element.type)) || element.localName === 'textarea';
    if (!isText && !element.isContentEditable) return { outcome: 'not_text' };
    element.scrollIntoView({ block: 'center', behavior: 'instant' });
    element.focus();
    if (isText) element.select();
    else getSelection().selectAllChildren(element);
    document.execCommand('delete');
    return { outcome: 'ready', line: isInput, secret: element.type === 'password' };
  };

  const scroll = (down) => {
    const root = document.scrollingElement ?? document.documentElement;
    const distance = down ? 500 : -500;
    let target = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
    const moves = (element) => {
      const before = element.scrollTop;
      element.scrollBy({ top: distance, behavior: 'instant' });
      return element.scrollTop !== before;
    };
    while (target && target !== root && !(target.scrollHeight > target.clientHeight && moves(target))) {
      target = target.parentElement;
    }
    if (!target || target === root) {
      target = root;
      moves(root);
    }
    return { y: Math.round(target.scrollTop), height: target.scrollHeight, view: target.clientHeight };
  };

  const KEPT = { a: 'href', img: 'alt', ol: 'start' };
  const UNSEEN = new Set(['script', 'style', 'noscript', 'template', 'svg', 'head', 'select', 'textarea']);
  const escape = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');

  // What can be seen of the page, as HTML: not what is hidden, which is where people put words for machines only.
  const content = (limit) => {
    const out = [];
    let length = 0;
    const write = (text) => {
      out.push(text);
      length += text.length;
    };
    const open = [document.body ?? document.documentElement];
    for (let visited = 0; open.length && length < limit && visited < 2 * MAX_VISITED; visited++) {
      const node = open.pop();
      if (typeof node === 'string') {
        write(node);
      } else if (node.nodeType === Node.TEXT_NODE) {
        write(escape(node.data.slice(0, limit - length)));
      } else if (node.nodeType === Node.ELEMENT_NODE && !UNSEEN.has(node.localName)) {
        // An element of no box of its own may still show what is in it.
        if (!isVisible(node) && getComputedStyle(node).display !== 'contents') continue;
        let inside = node.childNodes;
        if (node.shadowRoot) inside = node.shadowRoot.childNodes;
        if (node.localName === 'slot' && node.assignedNodes().length) inside = node.assignedNodes();
        let name = node.localName;
        if (name === 'iframe') {
          name = 'div';
          try {
            inside = node.contentDocument?.body?.childNodes ?? [];
          } catch {
            inside = [];
          }
        }
        const key = KEPT[name];
        const value = key && String(node[key] ?? '').slice(0, 2000);
        write(`<${name}${value ? ` ${key}="${escape(value).replace(/"/g, '&quot;')}"` : ''}>`);
        open.push(`</${name}>`);
        for (let i = inside.length - 1; i >= 0; i--) open.push(inside[i]);
      }
    }
    return {
      ...where(),
      html: out.join('').slice(0, limit),
      cut: open.length > 0,
    };
  };

  const where = () => ({ url: short(location.href, 2000), title: short(document.title, 200) });

  const MAX_STORED = 1_000_000;
  const readStorage = () => {
    const stored = [];
    let length = 0;
    try {
      for (let i = 0; i < localStorage.length && length < MAX_STORED; i++) {
        const name = localStorage.key(i);
        const value = localStorage.getItem(name);
        stored.push({ name, value });
        length += name.length + value.length;
      }
    } catch {} // pages without an origin have none
    return { origin: location.origin, localStorage: stored };
  };
  const writeStorage = (stored) => {
    for (const { name, value } of stored) localStorage.setItem(name, value);
    return stored.length;
  };

  return { where, state, click, clickAnyway, type, scroll, content, readStorage, writeStorage };
})()
