/* One table for all: sorts by a click on its heads, filters, exports CSV, leaves out columns that do not fit. Its state stands in
 * the #hash. */
'use strict';

/* A column of numbers. Others are written out: {name, text, class, unit, what, get, show, sort}. */
function column(name, unit, what, get, show) {
  return {name, unit, what: what || null, get, show};
}

/* columns: {name, unit, what, text: true, minor: true, get(i), show(i, value), sort(i)}; numbers keep their exact value in data-v.
 * Where the window is narrow, minor columns are left out first, then those on the right. only(i): which rows the table has. */
class Table {
  static list = [];

  constructor(options) {
    Object.assign(this, {sort: '', rows: 0, first: 50, only: () => true}, options);
    this.given = Array.from({length: this.rows}, (unused, i) => i).filter(this.only);
    this.all = false;
    this.left = new Set(); /* columns that do not fit */
    Table.list.push(this);
    this.body = el('tbody');
    this.count = el('span', {class: 'count', 'aria-live': 'polite'});
    this.filter = el('input', {
      type: 'search',
      'aria-label': 'Filter the table ' + this.title,
      spellcheck: 'false',
      autocomplete: 'off',
      oninput: () => State.set({[this.id + '.f']: this.filter.value})
    });
    this.more = el('button', {
      type: 'button',
      class: 'more',
      onclick: () => {
        this.all = true;
        this.draw();
      }
    });
    this.heads = this.columns.map((column, i) => this.head(column, i));
    const table = el('table', {id: 't-' + this.id, 'aria-label': this.title}, el('thead', {}, el('tr', {}, this.heads)), this.body);
    this.wide = el('button',
        {type: 'button', class: 'columns', hidden: true, onclick: () => State.set({[this.id + '.w']: this.isWide() ? '' : '1'})});
    this.scroll = el('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': this.title}, table);
    this.element = el('div', {class: 'tablebox'},
        el('div', {class: 'tools'}, this.label && el('h3', {}, this.label), el('label', {}, 'Filter', this.filter), this.count,
            this.wide,
            el('button', {
              type: 'button',
              class: 'csv',
              title: 'Download all columns of the rows that match the filter, as exact values',
              onclick: () => this.save()
            },
                'CSV')),
        this.scroll, this.more);
    State.on(() => this.draw());
    this.draw();
  }

  /* Other rows than before. */
  refill(rows) {
    this.rows = rows;
    this.given = Array.from({length: rows}, (unused, i) => i).filter(this.only);
    this.draw();
    this.fit();
  }

  isWide() {
    return State.get(this.id + '.w', '') === '1';
  }

  /* Leaves out columns until the table fits its place. */
  fit() {
    const room = this.scroll.clientWidth;
    if (!room) /* in closed details */
      return;
    this.left.clear();
    this.show();
    const order = this.columns.map((c, i) => i).slice(1).sort((a, b) => !!this.columns[b].minor - !!this.columns[a].minor || b - a);
    let over = this.scroll.scrollWidth > room;
    for (const i of order) {
      if (!over || this.isWide())
        break;
      this.left.add(i);
      this.show();
      over = this.scroll.scrollWidth > room;
    }
    this.wide.hidden = !this.left.size && !this.isWide();
    this.wide.textContent = this.isWide() ? 'Fewer columns' : `${this.left.size} more column${this.left.size === 1 ? '' : 's'}`;
    this.fitted = this.isWide();
  }
  show() {
    for (const row of [this.heads, ...Array.from(this.body.children, r => [...r.children])])
      row.forEach((cell, i) => cell.classList.toggle('left', this.left.has(i)));
  }

  head(column, i) {
    const button = el('button', {
      type: 'button',
      title: column.what || '',
      onclick: () => {
        const [at, down] = this.order();
        State.set({[this.id + '.s']: (at === i ? (down ? '' : '-') : column.text ? '' : '-') + i});
      }
    },
        column.name);
    return el('th', {scope: 'col', class: column.text ? null : 'num'}, button);
  }

  order() {
    const text = State.get(this.id + '.s', this.sort), down = text.startsWith('-');
    const i = text === '' ? -1 : Math.abs(parseInt(text, 10));
    return [i < this.columns.length ? i : -1, down];
  }

  value(column, i) {
    return column.sort ? column.sort(i) : column.get(i);
  }

  text(column, i) {
    const value = column.get(i), shown = column.show ? column.show(i, value) : null;
    return shown instanceof Node ? shown.textContent
        : shown !== null         ? shown
        : column.text            ? String(value)
                                 : Format.by(column.unit, value);
  }

  matching() {
    const wanted = State.get(this.id + '.f', '').trim().toLowerCase(), [at, down] = this.order();
    let list = this.given;
    if (wanted)
      list = list.filter(i => this.columns.some(c => String(this.text(c, i)).replaceAll(NB, ' ').toLowerCase().includes(wanted)));
    if (at >= 0) {
      const column = this.columns[at], key = list.map(i => this.value(column, i)), sign = down ? -1 : 1;
      const by = new Map(list.map((i, k) => [i, key[k]]));
      list = [...list].sort((a, b) => sign * Table.compare(by.get(a), by.get(b)) || a - b);
    }
    return list;
  }

  static compare(a, b) {
    if (a === null || a === undefined || b === null || b === undefined)
      return (a === null || a === undefined ? -1 : 0) + (b === null || b === undefined ? 1 : 0);
    return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', {numeric: true});
  }

  draw() {
    const list = this.matching(), shown = this.all ? list : list.slice(0, this.first), [at, down] = this.order();
    const wanted = State.get(this.id + '.f', '');
    if (this.filter.value !== wanted)
      this.filter.value = wanted;
    this.heads.forEach(
        (th, i) => i === at ? th.setAttribute('aria-sort', down ? 'descending' : 'ascending') : th.removeAttribute('aria-sort'));
    this.body.replaceChildren(...shown.map(i => this.row(i)));
    if (!list.length)
      this.body.append(el('tr', {}, el('td', {colspan: this.columns.length, class: 'none'}, 'No row matches the filter.')));
    const rows = this.given.length;
    this.count.textContent = list.length === rows ? Format.count(rows) + (rows === 1 ? ' row' : ' rows')
                                                  : Format.count(list.length) + ' of ' + Format.count(rows) + ' rows';
    this.more.hidden = shown.length === list.length;
    this.more.textContent = 'Show all ' + Format.count(list.length) + ' rows';
    this.show();
    if (this.fitted !== undefined && this.fitted !== this.isWide())
      this.fit();
  }

  row(i) {
    const cells = this.columns.map(column => {
      const value = column.get(i), shown = column.show ? column.show(i, value) : null;
      if (column.text)
        return el('td', {class: column.class}, shown === null ? String(value) : shown);
      return el('td', {
        class: 'num',
        'data-v': value === null || value === undefined ? '' : value,
        title: typeof value === 'number' && column.unit === 'ns' ? Format.count(Math.round(value)) + ' ns' : null
      },
          shown === null ? Format.by(column.unit, value) : shown);
    });
    if (!this.pick)
      return el('tr', {}, cells);
    return el('tr', {
      class: 'pick',
      tabindex: '0',
      'aria-current': this.picked && this.picked(i) ? 'true' : null,
      onclick: () => this.pick(i),
      onkeydown: e => {
        if (e.key === 'Enter')
          this.pick(i);
      }
    },
        cells);
  }

  /* Exact values, heads with units; text that a spreadsheet would take for a formula is disarmed. */
  save() {
    const quote = v => /[",\n\r]/.test(v) ? '"' + v.replaceAll('"', '""') + '"' : v;
    const safe = v => typeof v === 'string' && /^[=+\-@\t\r]/.test(v) ? '\'' + v : v === null || v === undefined ? '' : String(v);
    const lines = [this.columns.map(c => quote(c.name + (c.unit && c.unit !== '1' ? ' [' + c.unit + ']' : ''))).join(',')];
    for (const i of this.matching())
      lines.push(this.columns.map(c => quote(safe(c.get(i)))).join(','));
    download('podprof-' + this.id + '.csv', 'text/csv', lines.join('\r\n') + '\r\n');
  }
}

/* 'pss_present' says where 'pss_bytes' was measured: elsewhere its 0 is no value. `itself`: give that column, if it is a mask. */
function maskOf(source, name, itself) {
  return source.column.find(c => /_present$/.test(c.name) &&
                 (itself ? c.name === itself : c.name !== name && name.startsWith(c.name.slice(0, -7)))) ||
      null;
}

/* A table of pod.h5 as it is: its columns carry unit and meaning. `worker` in the file is the rank. */
function tableOf(source, id, title, options) {
  /* Numbers of rows, and places in lists that are not shown, are for programs. */
  const wanted = c =>
      !(c.name === source.dim && source.dim !== 'worker' &&
          (source.column.some(k => k.name === 'id') || Array.prototype.every.call(c.data, (v, i) => v === c.data[0] + i)) &&
          source.column.length > 1) &&
      !/(row|member)_first$/.test(c.name) && !maskOf(source, c.name.replace(/_present$/, '_'), c.name);
  const columns = source.column.filter(wanted).map(c => {
    const isText = c.data.length > 0 && typeof Array.prototype.find.call(c.data, v => v !== null) === 'string';
    const mask = maskOf(source, c.name);
    return {
      name: rankName(plainName(c.name.startsWith(source.dim + '_') ? c.name.slice(source.dim.length + 1) : c.name)),
      unit: c.unit,
      what: c.what,
      text: isText,
      minor: Array.prototype.every.call(c.data, v => !v || v === '0'),
      key: c.name,
      get: i => mask && !mask.data[i] ? null : c.data[i]
    };
  });
  return new Table({id, title, columns, rows: source.shown, first: 12, ...options});
}

function rankName(name) {
  return name === 'worker' ? 'rank' : name;
}

/* What few people need, closed until it is asked for. */
function details(title, ...parts) {
  const e = el('details', {}, el('summary', {}, title), parts);
  e.addEventListener('toggle', () => Table.list.filter(t => e.contains(t.element)).forEach(t => t.fit()));
  return e;
}

/* A table whose rows have bars: its own chart. heads: of the name, the bar and the cells. rows: {name, title, colour,
 * parts: [[value, hatched]], cells: [number as text, exact value] or a text, sub, of: what a test finds it by}. */
function barTable(id, label, heads, rows) {
  const all = r => (r.parts || []).reduce((sum, [v]) => sum + v, 0), most = Math.max(...rows.map(all)) || 1;
  const bar = (r, [v, hatched]) =>
      v > 0 && el('span', {class: hatched ? 'hatched' : null, style: {width: 100 * v / most + '%', backgroundColor: r.colour}});
  const cell = c => Array.isArray(c) ? el('td', {class: 'num', 'data-v': c[1]}, c[0]) : el('td', {}, c);
  const row = r => el('tr', {class: r.sub ? 'sub' : null, 'data-category': r.of},
      el('td', {class: r.title ? 'name op' : 'name', title: r.title}, r.name),
      r.parts ? el('td', {class: 'bar'}, el('div', {class: 'track'}, r.parts.map(p => bar(r, p)))) : el('td'), r.cells.map(cell));
  const isNumber = i => rows.length > 0 && Array.isArray(rows[0].cells[i - 2]);
  return el('table', {class: 'bars', id, 'aria-label': label},
      el('thead', {}, el('tr', {}, heads.map((h, i) => el('th', {scope: 'col', class: isNumber(i) ? 'num' : null}, h)))),
      el('tbody', {}, rows.map(row)));
}

function swatch(colour) {
  return el('span', {class: 'swatch', style: {backgroundColor: colour}});
}
