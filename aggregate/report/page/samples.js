/* Samples over time as lines, one per rank: for tables with a time and a worker, of any source. The table below has the numbers. */
'use strict';

const Samples = {
  most: 48, /* lines; of more ranks those with the largest values */
  charts: [],

  /* Columns of a table of samples; null where it is none. */
  shape(t) {
    const find = pattern => t.column.find(c => pattern.test(c.name));
    const time = find(/(^|_)time_ns$/), worker = find(/(^|_)worker$/);
    if (!time || !worker || time.data.length <= new Set(worker.data).size) /* one sample per rank is no line */
      return null;
    const skip = new Set([time, worker]),
          values = t.column.filter(c => !skip.has(c) && c.name !== t.dim && c.name !== 'period_ns' && !/present$/.test(c.name) &&
                  typeof c.data[0] === 'number' && Array.from(c.data).some(v => v > 0));
    return values.length ? {time: time.data, worker: worker.data, values, mask: c => maskOf(t, c.name)} : null;
  },

  /* A chart with its choice of column; null where the table has no time. */
  of(t, id) {
    const shape = Samples.shape(t);
    if (!shape)
      return null;
    const key = id + '.y',
          select = el('select', {'aria-label': 'Quantity', onchange: () => State.set({[key]: select.value})},
              shape.values.map(c => el('option', {value: c.name}, plainName(c.name.replace(t.dim + '_', '')))));
    const text = el('p', {class: 'lead', style: {margin: '0'}}), plot = new Plot({
      id: id + '-chart',
      height: 200,
      x: {title: 'time since the job began', unit: 'ns'},
      y: {},
      describe: (i, s) => [el('b', {}, s.name), el('div', {}, `${Format.by(plot.y.unit, s.y[i])} at ${Format.time(s.x[i])}`)],
      onpick: (i, s) => State.set({rank: s.rank})
    });
    const chart = {shape, select, key, plot, text};
    Samples.charts.push(chart);
    return el('div', {},
        el('div', {class: 'controls', style: {marginBottom: '0'}}, shape.values.length > 1 && el('label', {}, 'Quantity', select),
            text),
        plot.element);
  },

  draw() {
    for (const chart of Samples.charts)
      Samples.paint(chart, chart.shape.values.find(c => c.name === State.get(chart.key, '')) || chart.shape.values[0]);
  },

  lines(shape, column) {
    const byRank = new Map(), mask = shape.mask(column);
    for (let i = 0; i < shape.time.length; i++) {
      if (mask && !mask.data[i])
        continue;
      const rank = shape.worker[i], line = byRank.get(rank) || {rank, name: 'rank ' + rank, x: [], y: [], most: 0};
      line.x.push(shape.time[i]);
      line.y.push(column.data[i]);
      line.most = Math.max(line.most, column.data[i]);
      byRank.set(rank, line);
    }
    return [...byRank.values()].sort((a, b) => b.most - a.most);
  },

  paint(chart, column) {
    const all = Samples.lines(chart.shape, column), pinned = Pod.worker.rank[Select.worker], largest = all[0];
    const {shown, text} = Plot.many(all, Samples.most, l => l.rank === pinned);
    chart.select.value = column.name;
    chart.text.textContent = `${capital(column.what || plainName(column.name))}. ` +
        (largest.rank === pinned
                ? `Strong line: rank ${pinned}, pinned, with the largest value, ${Format.by(column.unit, largest.most)}.`
                : `Blue: rank ${largest.rank}, with the largest value, ${
                      Format.by(column.unit, largest.most)}. Strong: the pinned rank ${pinned}.`) +
        (text && ` Shown: the ${text} ranks with the largest values of ${all.length}.`);
    chart.plot.y = {title: chart.select.selectedOptions[0].textContent, unit: column.unit};
    chart.plot.show({lines: shown.map(l => ({...l, plain: l.x.length > 2})), what: chart.text.textContent});
  },
};

function plainName(name) {
  return name.replace(/_(ns|bytes)$/, '').replaceAll('_', ' ');
}
