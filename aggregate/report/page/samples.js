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
    if (!shape || typeof Chart === 'undefined')
      return null;
    const key = id + '.y',
          select = el('select', {'aria-label': 'Quantity', onchange: () => State.set({[key]: select.value})},
              shape.values.map(c => el('option', {value: c.name}, plainName(c.name.replace(t.dim + '_', '')))));
    const box = el('div', {class: 'chartbox', style: {height: '200px'}}), text = el('p', {class: 'lead', style: {margin: '0'}});
    const chart = {shape, select, key, box, text, drawn: ''};
    Samples.charts.push(chart);
    return el('div', {},
        el('div', {class: 'controls', style: {marginBottom: '0'}}, shape.values.length > 1 && el('label', {}, 'Quantity', select),
            text),
        box);
  },

  draw() {
    for (const chart of Samples.charts) {
      const column = chart.shape.values.find(c => c.name === State.get(chart.key, '')) || chart.shape.values[0];
      const now = [column.name, document.documentElement.dataset.theme, Select.worker].join();
      if (chart.drawn !== now)
        Samples.paint(chart, column);
      chart.drawn = now;
    }
  },

  lines(shape, column) {
    const byRank = new Map(), mask = shape.mask(column);
    for (let i = 0; i < shape.time.length; i++) {
      if (mask && !mask.data[i])
        continue;
      const line = byRank.get(shape.worker[i]) || {rank: shape.worker[i], points: [], most: 0};
      line.points.push({x: shape.time[i] / 1e9, y: column.data[i]});
      line.most = Math.max(line.most, column.data[i]);
      byRank.set(shape.worker[i], line);
    }
    return [...byRank.values()].sort((a, b) => b.most - a.most);
  },

  paint(chart, column) {
    const all = Samples.lines(chart.shape, column), pinned = Pod.worker.rank[Select.worker],
          lines = all.filter((l, i) => i < Samples.most || l.rank === pinned);
    const largest = all[0], [size, unit] = Format.axis(column.unit, largest.most), soft = css('--soft'),
          font = {family: css('--font'), size: 12};
    const colour = l => l.rank === pinned ? css('--ink') : l === largest ? css('--attention') : css('--rest');
    chart.select.value = column.name;
    chart.text.textContent = `${capital(column.what || plainName(column.name))}. ` +
        (largest.rank === pinned
                ? `Strong line: rank ${pinned}, pinned, with the largest value, ${Format.by(column.unit, largest.most)}.`
                : `Red: rank ${largest.rank}, with the largest value, ${
                      Format.by(column.unit, largest.most)}. Strong: the pinned rank ${pinned}.`) +
        (lines.length < all.length ? ` Shown: the ${lines.length} ranks with the largest values of ${all.length}.` : '');
    if (chart.chart)
      chart.chart.destroy();
    const canvas = el('canvas', {role: 'img', 'aria-label': chart.text.textContent + ' The table below has the numbers.'});
    chart.box.replaceChildren(canvas);
    chart.chart = new Chart(canvas, {
      type: 'line',
      data: {
        datasets: lines.map(l => ({
          label: 'rank ' + l.rank,
          data: l.points.map(p => ({x: p.x, y: p.y / size})),
          borderColor: colour(l),
          backgroundColor: colour(l),
          borderWidth: colour(l) === css('--rest') ? 1 : 1.75,
          pointRadius: l.points.length < 3 ? 2 : 0,
          tension: 0,
          order: l.rank === pinned ? 0
              : l === largest      ? 1
                                   : 2
        }))
      },
      options: {
        animation: false,
        maintainAspectRatio: false,
        responsive: true,
        parsing: false,
        interaction: {mode: 'nearest', intersect: false},
        plugins: {legend: {display: false}, tooltip: {enabled: false, external: tip => Samples.hover(tip, column, size)}},
        scales: {
          x: {
            type: 'linear',
            grid: {display: false},
            ticks: {color: soft, font, callback: v => String(+v.toPrecision(6)), maxTicksLimit: 9},
            title: axisTitle('time since the job began (s)')
          },
          y: {
            beginAtZero: true,
            grid: {color: css('--rule'), drawBorder: false, drawTicks: false},
            ticks: {color: soft, font, padding: 8, maxTicksLimit: 5, callback: v => String(+v.toPrecision(4))},
            title: axisTitle(Format.titled(chart.select.selectedOptions[0].textContent, unit))
          }
        }
      }
    });
  },
  hover(context, column, size) {
    const tip = context.tooltip, point = tip.dataPoints && tip.dataPoints[0];
    if (!point || tip.opacity === 0)
      return Card.hide();
    const box = context.chart.canvas.getBoundingClientRect();
    Card.show(box.left + tip.caretX, box.top + tip.caretY, [
      el('b', {}, point.dataset.label),
      el('div', {}, `${Format.by(column.unit, point.raw.y * size)} at ${Format.time(point.raw.x * 1e9)}`)
    ]);
  },
};

function plainName(name) {
  return name.replace(/_(ns|bytes)$/, '').replaceAll('_', ' ');
}
