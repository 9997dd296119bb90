/* Input pipelines of tf.data: the slow ones and what to do, all of them, one call of one as a graph, and every iterator.
 * Of /tf_data_pipeline, /tf_data_call, /tf_data_node and /tf_data_iterator. */
'use strict';

const TfData = {
  slow: 50000, /* ns */

  section() {
    const title = el('h2', {}, 'tf.data'), p = TfData.rows('tf_data_pipeline');
    if (!p.length)
      return [
        title,
        emptyText(absentReason('tf_data_pipeline') || 'No iterator of tf.data was recorded.',
            'An XSpace file of TensorFlow\u2019s profiler has them: \u2018podprof analyze FILE.xplane.pb\u2019.',
            'If the job uses tf.data, record for a longer time: a call that began before the window is not in the file.')
      ];
    return [title, TfData.lead(p), TfData.fixes(p), TfData.all(p), TfData.graph(p), TfData.iterators(), TfData.left()];
  },
  /* The rows of a table as objects. */
  rows(group) {
    const t = Pod.table(group);
    return t ? Array.from({length: t.shown}, (unused, i) => Object.fromEntries(t.column.map(c => [c.name, c.data[i]]))) : [];
  },
  host(rank) {
    return Pod.rank_of.has(rank) ? Pod.worker.host[Pod.rank_of.get(rank)] : '';
  },

  /* Pipelines that the program calls, the one with the slowest call first. */
  ranked(p) {
    return p.filter(r => !r.is_device && r.most_ns > TfData.slow).sort((a, b) => b.most_ns - a.most_ns || a.worker - b.worker);
  },
  lead(p) {
    const worst = TfData.ranked(p)[0];
    if (!worst)
      return el('p', {class: 'evidence', id: 'tfdata-lead'}, el('b', {}, 'No input pipeline of a host is slow'),
          `: no call of one takes longer than 50${NB}\u00b5s. Ranks that are not in this session may still wait for theirs.`);
    return el('p', {class: 'evidence', id: 'tfdata-lead'}, el('b', {}, `${worst.name} of rank ${worst.worker}`),
        ` has the slowest call: ${Format.time(worst.most_ns)}. Its bottleneck is `, el('b', {}, worst.type),
        ` (${worst.class}), ${Format.time(worst.bottleneck_ns)} of its own: `, el('code', {}, worst.path));
  },
  /* What to do about each slow pipeline. */
  fixes(p) {
    const list = TfData.ranked(p);
    if (!list.length)
      return null;
    const columns = [
      {name: 'rank', get: i => list[i].worker}, {name: 'host', text: true, get: i => TfData.host(list[i].worker)},
      {name: 'pipeline', text: true, get: i => list[i].name}, {name: 'slowest call', unit: 'ns', get: i => list[i].most_ns},
      {name: 'bottleneck', text: true, get: i => list[i].type},
      {name: 'its self time', unit: 'ns', what: 'in the slowest call', get: i => list[i].bottleneck_ns},
      {name: 'what to do', text: true, class: 'wide', get: i => sentence(list[i].advice)},
      {name: 'class', text: true, minor: true, get: i => list[i].class},
      {name: 'name', text: true, minor: true, class: 'wide', what: 'with those of the iterators above', get: i => list[i].path},
      {name: 'dataset', text: true, minor: true, class: 'wide', get: i => list[i].dataset}
    ];
    return new Table({
      id: 'tfdata-fix',
      title: 'Slow input pipelines',
      label: 'Slow input pipelines, the slowest first',
      columns,
      rows: list.length,
      first: 8,
      pick: i => TfData.show(list[i], 0)
    }).element;
  },
  all(p) {
    const of = (name, key, what) => column(name, 'ns', what, i => p[i][key]);
    const columns = [
      {name: 'rank', get: i => p[i].worker}, {name: 'host', text: true, get: i => TfData.host(p[i].worker)},
      {name: 'pipeline', text: true, get: i => p[i].name}, {name: 'calls', get: i => p[i].calls},
      {name: 'slow calls', what: 'longer than 50 \u00b5s', get: i => p[i].slow_calls}, of('mean', 'mean_ns', 'duration of a call'),
      of('shortest', 'least_ns', null), of('slowest', 'most_ns', null), of('all calls', 'total_ns', null),
      {name: 'bottleneck', text: true, what: 'of the slowest call', get: i => p[i].type}
    ];
    return el('div', {style: {marginTop: '22px'}}, new Table({
      id: 'tfdata-all',
      title: 'All input pipelines',
      label: 'All input pipelines',
      columns,
      rows: p.length,
      first: 12,
      sort: '-7',
      pick: i => TfData.show(p[i], 0)
    }).element);
  },

  /* Which call is drawn: in the address as tf=rank.pipeline.call. */
  show(pipeline, call) {
    State.set({tf: `${pipeline.worker}.${pipeline.pipeline}.${call}`});
  },
  shown(p) {
    const [rank, number, call] = State.get('tf', '').split('.').map(Number),
                         at = p.find(r => r.worker === rank && r.pipeline === number) || TfData.ranked(p)[0] || p[0];
    return {at, call: at.worker === rank && at.pipeline === number && call >= 0 ? call : 0};
  },
  graph(p) {
    TfData.p = p;
    TfData.calls = TfData.rows('tf_data_call');
    TfData.nodes = TfData.rows('tf_data_node');
    TfData.known = new Map(TfData.rows('tf_data_iterator').map(r => [`${r.worker}.${r.pipeline}.${r.iterator}`, r]));
    const choice = (id, label, change) => {
      TfData[id] = el('select', {id: 'tfdata-' + id, onchange: change});
      return el('label', {}, label + ' ', TfData[id]);
    };
    TfData.tree =
        el('div', {class: 'scroll', id: 'tfdata-graph', tabindex: '0', role: 'region', 'aria-label': 'Iterators of a call'});
    const of = rank => p.filter(r => r.worker === rank);
    return el('div', {style: {marginTop: '22px'}}, el('h3', {}, 'One call'),
        el('p', {class: 'lead'},
            'Bold: the critical path, for which the call waited. Red: the longest self time of these. ' +
                'Grey and dashed: made ahead, or beside it. A call is slow above 50 \u00b5s.'),
        el('p', {class: 'choices'}, choice('rank', 'Host', () => TfData.show(of(+TfData.rank.value)[0], 0)), ' ',
            choice('pipeline', 'Input pipeline',
                () => TfData.show(of(+TfData.rank.value).find(r => r.pipeline === +TfData.pipeline.value), 0)),
            ' ',
            choice('call', 'Call, by duration',
                () => TfData.show(of(+TfData.rank.value).find(r => r.pipeline === +TfData.pipeline.value), +TfData.call.value))),
        TfData.tree);
  },
  fill(select, list, value) {
    select.replaceChildren(...list.map(([v, text]) => el('option', {value: v, selected: v === value}, text)));
  },
  draw() {
    if (!TfData.tree)
      return;
    const {at, call} = TfData.shown(TfData.p), mine = r => r.worker === at.worker && r.pipeline === at.pipeline,
               ranks = [...new Set(TfData.p.map(r => r.worker))], nodes = TfData.nodes.filter(r => mine(r) && r.call === call);
    TfData.fill(TfData.rank, ranks.map(r => [r, `${TfData.host(r)}, rank ${r}`]), at.worker);
    TfData.fill(TfData.pipeline, TfData.p.filter(r => r.worker === at.worker).map(r => [r.pipeline, r.name]), at.pipeline);
    const drawn = new Set(TfData.nodes.filter(mine).map(r => r.call));
    TfData.fill(TfData.call,
        TfData.calls.filter(r => mine(r) && drawn.has(r.call))
            .map(r => [r.call, `${r.call + 1}: ${Format.time(r.duration_ns)}${r.is_slow ? ', slow' : ''}`]),
        call);
    const below = parent => nodes.filter(n => TfData.iterator(n)?.parent === parent).sort((a, b) => a.iterator - b.iterator);
    const branch = parent => {
      const list = below(parent);
      return list.length ? el('ul', {class: 'tree'}, list.map(n => el('li', {}, TfData.node(n), branch(n.iterator)))) : null;
    };
    TfData.tree.replaceChildren(branch(-1) || el('p', {class: 'missing'}, 'The dataset has no iterators of this call.'));
  },
  iterator(node) {
    return TfData.known.get(`${node.worker}.${node.pipeline}.${node.iterator}`);
  },
  node(n) {
    const it = TfData.iterator(n), role = n.is_bottleneck ? 'bottleneck' : n.is_blocking ? 'critical' : 'beside';
    return el('div', {class: 'iterator ' + role, title: it.path}, el('b', {}, it.type),
        role === 'bottleneck'   ? ' bottleneck'
            : role === 'beside' ? ' not waited for'
                                : '',
        el('span', {},
            ` start ${Format.time(n.begin_ns)}, total ${Format.time(n.total_ns)}, self ${Format.time(n.self_ns)}, ` +
                `${Format.count(n.calls)} call${n.calls === 1 ? '' : 's'}`),
        el('small', {}, [it.dataset, it.parameters].filter(t => t).join(' ')));
  },

  iterators() {
    const r = TfData.rows('tf_data_iterator'), name = new Map(TfData.p.map(p => [`${p.worker}.${p.pipeline}`, p.name]));
    if (!r.length)
      return null;
    const columns = [
      {name: 'type', text: true, get: i => r[i].type}, {name: 'rank', get: i => r[i].worker},
      {name: 'pipeline', text: true, get: i => name.get(`${r[i].worker}.${r[i].pipeline}`) || String(r[i].pipeline)},
      {name: 'calls', get: i => r[i].calls}, column('total time', 'ns', 'duration of its calls', i => r[i].total_ns),
      column('self time', 'ns', 'less what iterators below do for it', i => r[i].self_ns),
      {name: 'blocking calls', what: 'that a call of the root waited for', get: i => r[i].blocking_calls},
      column('blocking', 'ns', 'self time of these', i => r[i].blocking_ns), {name: 'class', text: true, get: i => r[i].class},
      {name: 'of one kind', minor: true, what: 'iterators in this row', get: i => r[i].instances},
      {name: 'name', text: true, class: 'wide', minor: true, get: i => r[i].path},
      {name: 'dataset', text: true, class: 'wide', minor: true, get: i => r[i].dataset},
      {name: 'parameters', text: true, class: 'wide', minor: true, get: i => r[i].parameters}
    ];
    return el('div', {style: {marginTop: '22px'}}, new Table({
      id: 'tfdata-iterators',
      title: 'Iterators',
      label: 'Iterators, over all calls',
      columns,
      rows: r.length,
      first: 20,
      sort: '-7'
    }).element);
  },
  left() {
    const one = name => Pod.smallOf('tf_data_pipeline', name)[0] || 0, list = [];
    const say = (name, one_text, many) => {
      const n = one(name);
      if (n)
        list.push(`${Format.count(n)} ${n === 1 ? one_text : many}.`);
    };
    say('without_id', 'call of an iterator has no number and is not counted',
        'calls of iterators have no number and are not counted');
    say('cut', 'call crosses the edge of the window and is not counted', 'calls cross the edge of the window and are not counted');
    say('of_no_root', 'call is of no recorded call of a root', 'calls are of no recorded call of a root');
    say('unused_elements', 'element was made ahead, and no recorded call took it',
        'elements were made ahead, and no recorded call took them');
    say('unmade_elements', 'element was taken whose making was not recorded', 'elements were taken whose making was not recorded');
    say('no_elements', 'call looked for an element made ahead and found none',
        'calls looked for an element made ahead and found none');
    say('unknown_types', 'iterator is of a type that podprof does not know', 'iterators are of types that podprof does not know');
    say('rest', 'row is left out: the dataset has the slowest calls only',
        'rows are left out: the dataset has the slowest calls only');
    return list.length ? el('ul', {class: 'notes', id: 'tfdata-left'}, list.map(t => el('li', {}, t))) : null;
  },
};
