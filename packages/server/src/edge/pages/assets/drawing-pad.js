// A pad of 8 by 8 on which a row of 64 numbers is drawn.
const PAD_SIDE = 8;
const PAD_MAX = 16;
const CELL = 20;
// A three, as the pad's first picture: something to ask about at once.
const FIRST_DIGIT = '0005g9000080cf1000003e90000afg40000367f30000007g00029af00007ga30';

function isPadRow(example) {
  try {
    const row = JSON.parse(example).input;
    return Array.isArray(row) && row.length === PAD_SIDE ** 2 && row.every((value) => typeof value === 'number');
  } catch {
    return false;
  }
}

class DrawingPad {
  constructor({ changed, finished }) {
    this.changed = changed;
    this.values = Array.from(FIRST_DIGIT, (digit) => Number.parseInt(digit, PAD_MAX + 1));
    this.canvas = Object.assign(document.createElement('canvas'), { width: PAD_SIDE * CELL, height: PAD_SIDE * CELL });
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', 'Drawing pad of 8 by 8; the numbers can also be typed below');
    this.canvas.addEventListener('pointerdown', (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.paint(event);
    });
    this.canvas.addEventListener('pointermove', (event) => this.paint(event));
    this.canvas.addEventListener('pointerup', finished);
    this.element = Object.assign(document.createElement('div'), { className: 'pad' });
    this.element.append(this.canvas, this.sideOf());
    this.redraw();
  }

  sideOf() {
    const hint = Object.assign(document.createElement('p'), {
      className: 'hint',
      textContent: 'Draw here: 8 × 8 numbers from 0 to 16.',
    });
    const clear = Object.assign(document.createElement('button'), {
      type: 'button',
      className: 'quiet',
      textContent: 'Clear',
    });
    clear.addEventListener('click', () => {
      this.values.fill(0);
      this.redraw();
    });
    const side = document.createElement('div');
    side.append(hint, clear);
    return side;
  }

  /** A round pen a little wider than a cell, as the digits of the data set were scanned. */
  paint(event) {
    if (event.buttons !== 1) return;
    const box = this.canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * PAD_SIDE - 0.5;
    const y = ((event.clientY - box.top) / box.height) * PAD_SIDE - 0.5;
    this.values.forEach((value, index) => {
      const distance = Math.hypot((index % PAD_SIDE) - x, Math.floor(index / PAD_SIDE) - y);
      const ink = Math.round(Math.max(0, 1.15 - distance) * PAD_MAX);
      this.values[index] = Math.min(PAD_MAX, Math.max(value, ink));
    });
    this.redraw();
  }

  redraw() {
    const context = this.canvas.getContext('2d');
    this.values.forEach((value, index) => {
      const shade = Math.round((value / PAD_MAX) * 255);
      context.fillStyle = `rgb(${shade} ${Math.round(shade * 0.95)} ${Math.round(shade * 0.8)})`;
      context.fillRect((index % PAD_SIDE) * CELL, Math.floor(index / PAD_SIDE) * CELL, CELL - 1, CELL - 1);
    });
    this.changed(this.values);
  }
}
