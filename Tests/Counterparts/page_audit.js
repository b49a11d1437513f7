// An expression: what is wrong with the controls and words on a page, as a list of sentences.
(() => {
  const smallest = 43.9;      // CSS pixels for a finger, less what rounding takes
  const complaints = [];
  // A transition ends in the colours of the state.
  for (const animation of document.getAnimations()) if (animation instanceof CSSTransition) animation.finish();
  const told = element => `${element.tagName.toLowerCase()}#${element.id} "${(element.innerText ?? '').slice(0, 30)}"`;
  const isVisible = element =>
    element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }) && !element.closest('details:not([open]) > :not(summary)');

  // -- Room

  /// Whether something else lies over the middle of a control, unless that is scrolled away, or no finger reaches it now.
  const isCovered = control => {
    if (getComputedStyle(control).pointerEvents === 'none') return false;
    const { x, y, width, height } = control.getBoundingClientRect(), middle = [x + width / 2, y + height / 2];
    for (let around = control.parentElement; around; around = around.parentElement) {
      const box = around.getBoundingClientRect(), clips = getComputedStyle(around).overflowY !== 'visible';
      if (clips && (middle[1] < box.top || middle[1] > box.bottom)) return false;
    }
    const top = document.elementFromPoint(...middle);
    return top && !control.contains(top) && !top.contains(control);
  };

  const isReached = element => isVisible(element) && !element.closest('[aria-hidden=true]');
  const controls = [...document.querySelectorAll('button, input, select, summary, a[href]')].filter(isReached);
  for (const control of controls) {
    const { width, height } = control.getBoundingClientRect();
    if (Math.min(width, height) < smallest) complaints.push(`${told(control)} is ${width} x ${height}`);
    if (!control.innerText.trim() && !control.labels?.[0]?.innerText.trim()) complaints.push(`${told(control)} has no word`);
    if (isCovered(control)) complaints.push(`${told(control)} is covered`);
    if (control.tabIndex < 0) complaints.push(`${told(control)} is out of reach of the keyboard`);
  }
  if (document.documentElement.scrollWidth > innerWidth) complaints.push('the page is wider than the window');
  for (const element of document.querySelectorAll('body :not(video, svg *)')) {
    if (!isVisible(element)) continue;
    const { left, top, right, bottom, width, height } = element.getBoundingClientRect();
    if (!width || !height) continue;
    const scrolls = element.parentElement.closest('.panel');       // what a panel has below its edge can be scrolled to
    if (left < -0.5 || right > innerWidth + 0.5 || !scrolls && (top < -0.5 || bottom > innerHeight + 0.5)) {
      complaints.push(`${told(element)} is cut off: ${left}, ${top}, ${right}, ${bottom}`);
    }
  }

  // -- Contrast (WCAG 2.2, 1.4.3 and 1.4.11)

  const parsed = text => {
    const [red, green, blue, alpha = 1] = text.match(/[\d.]+/g).map(Number);
    return { colour: [red, green, blue], alpha };
  };
  const over = ({ colour, alpha }, below) => colour.map((value, index) => value * alpha + below[index] * (1 - alpha));
  const background = (element, picture) => {
    if (!element) return picture;
    const own = parsed(getComputedStyle(element).backgroundColor);
    return own.alpha === 1 ? own.colour : over(own, background(element.parentElement, picture));
  };
  const luminance = colour => {
    const [red, green, blue] = colour.map(value => value / 255)
      .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  // Behind what lies on the picture there may be any colour.
  const onPicture = 'picture' in document.documentElement.dataset;
  const expect = (element, below, colour, least, what) => {
    for (const behind of onPicture ? [[0, 0, 0], [255, 255, 255]] : [null]) {
      const base = background(below, behind ?? [255, 255, 255]);
      const ratio = contrast(over(parsed(colour), base), base);
      if (ratio < least) complaints.push(`${what} of ${told(element)} has a contrast of ${ratio.toFixed(2)}`);
    }
  };
  for (const element of document.querySelectorAll('body *')) {
    if (!isVisible(element) || element.closest(':disabled') || element.closest('noscript')) continue;
    const style = getComputedStyle(element);
    const hasWords = [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
    const isForReadersAlone = style.clipPath !== 'none';
    const isField = element.matches('input:not([type=range]), select');
    if ((hasWords || isField) && !isForReadersAlone) expect(element, element, style.color, 4.5, 'the text');
    if (isField) expect(element, element.parentElement, style.borderTopColor, 3, 'the border');
  }
  return complaints;
})()
