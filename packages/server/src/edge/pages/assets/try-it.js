// The forms of the playground: each sends one request to this server and shows what comes back.
function quotedForShell(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

class TryIt {
  constructor(form) {
    this.form = form;
    this.about = JSON.parse(form.querySelector('script').textContent);
    this.target = form.querySelector('.answer');
    this.canvas = form.querySelector('.drop canvas');
    this.text = form.querySelector('textarea');
    this.file = undefined;
    this.bitmap = undefined;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.ask();
    });
    for (const button of form.querySelectorAll('[data-copy]')) {
      button.addEventListener('click', () => this.copy(button.dataset.copy));
    }
    if (this.about.kind === 'image') this.listenForPictures();
    if (this.about.kind === 'json') this.offerPad();
  }

  listenForPictures() {
    const drop = this.form.querySelector('.drop');
    const input = drop.querySelector('input');
    input.addEventListener('change', () => this.take(input.files[0]));
    for (const name of ['dragenter', 'dragover']) {
      drop.addEventListener(name, (event) => {
        event.preventDefault();
        drop.classList.add('over');
      });
    }
    for (const name of ['dragleave', 'drop']) drop.addEventListener(name, () => drop.classList.remove('over'));
    drop.addEventListener('drop', (event) => {
      event.preventDefault();
      this.take(event.dataTransfer.files[0]);
    });
    this.form.addEventListener('paste', (event) => this.take(event.clipboardData.files[0]));
  }

  async take(file) {
    if (!file) return;
    this.file = file;
    try {
      this.bitmap = await createImageBitmap(file);
      this.drawPicture();
    } catch {
      // The server may know formats that this browser does not.
      this.bitmap = undefined;
    }
    await this.ask();
  }

  drawPicture() {
    if (!this.bitmap) return;
    this.canvas.width = this.bitmap.width;
    this.canvas.height = this.bitmap.height;
    this.canvas.hidden = false;
    this.form.querySelector('.drop .hint').hidden = true;
    this.canvas.getContext('2d').drawImage(this.bitmap, 0, 0);
  }

  /** A row of 64 numbers is drawn more easily than typed. */
  offerPad() {
    if (!isPadRow(this.about.example)) return;
    this.text.rows = 3;
    const pad = new DrawingPad({
      changed: (values) => {
        this.text.value = JSON.stringify({ input: values });
      },
      finished: () => this.ask(),
    });
    this.form.querySelector('.ask').prepend(pad.element);
  }

  parameters() {
    const given = {};
    for (const input of this.form.querySelectorAll('input[name]')) {
      if (input.value !== '') given[input.name] = Number(input.value);
    }
    return given;
  }

  request() {
    const { kind, url } = this.about;
    const query = new URLSearchParams(this.parameters()).toString();
    const target = query === '' ? url : `${url}?${query}`;
    if (kind === 'image') return { url: target, type: this.file?.type || 'application/octet-stream', body: this.file };
    const type = kind === 'text' ? 'text/plain' : 'application/json';
    return { url: target, type, body: this.text.value };
  }

  async ask() {
    const { url, type, body } = this.request();
    if (body === undefined) {
      answerView.say(this.target, 'Choose a picture first.');
      return;
    }
    const button = this.form.querySelector('[type="submit"]');
    button.disabled = true;
    try {
      const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body });
      const json = await response.json();
      if (this.bitmap) this.drawPicture();
      if (response.ok && this.bitmap) answerView.drawBoxes(this.canvas, json.predictions ?? []);
      answerView.show(this.target, response.ok, json);
    } catch (error) {
      answerView.say(this.target, `No answer: ${error.message}`);
    } finally {
      button.disabled = false;
    }
  }

  async copy(language) {
    const output = this.form.querySelector('.code output');
    const text = this.code(language);
    try {
      await navigator.clipboard.writeText(text);
      output.textContent = 'copied';
    } catch {
      // Without https there is no clipboard: then the code is shown.
      answerView.say(this.target, text);
    }
    setTimeout(() => {
      output.textContent = '';
    }, 2000);
  }

  code(language) {
    const { url, type, body } = this.request();
    const address = location.origin + url;
    const isFile = this.about.kind === 'image';
    const name = this.file?.name ?? 'photo.jpg';
    const mime = isFile ? this.file?.type || 'image/jpeg' : type;
    switch (language) {
      case 'curl':
        return `curl '${address}' -H 'content-type: ${mime}' ${isFile ? `--data-binary @${quotedForShell(name)}` : `--data-binary ${quotedForShell(body)}`}`;
      case 'typescript':
        return `${isFile ? `import { readFile } from 'node:fs/promises';\n\n` : ''}const response = await fetch(${JSON.stringify(address)}, {\n  method: 'POST',\n  headers: { 'content-type': ${JSON.stringify(mime)} },\n  body: ${isFile ? `await readFile(${JSON.stringify(name)})` : JSON.stringify(body)},\n});\nif (!response.ok) throw new Error(await response.text());\nconsole.log(await response.json());\n`;
      default:
        return `import requests\n\nresponse = requests.post(\n    ${JSON.stringify(address)},\n    headers={"content-type": ${JSON.stringify(mime)}},\n    data=${isFile ? `open(${JSON.stringify(name)}, "rb")` : `${JSON.stringify(body)}.encode()`},\n)\nresponse.raise_for_status()\nprint(response.json())\n`;
    }
  }
}

for (const form of document.querySelectorAll('[data-try]')) new TryIt(form);
