#!/usr/bin/python3
"""Write a deterministic, pre-grouped ("approach B") XSpace set with known numbers, for checking viewers and readers.

  make_xspace.py LOGDIR/plugins/profile/SESSION [--hosts 2] [--gpus 2] [--steps 12] [--truth]

One <host>.xplane.pb per host: /host:CPU (step markers, launches, NVTX-like and Python ranges, MPI, input pipeline,
allocator events), /device:GPU:n (Steps line, compute, NCCL and copy streams), Task Environment, optionally
/host:metadata (an HLO module) and /device:CUSTOM. Standard library only; the protobuf bytes are written by hand.

Truth (--truth): JSON with, per host and step, begin/duration and exclusive ns per category (priority sweep over all
GPUs of the host), per kernel name count/total/min/max, per framework op, input ops, memory peaks. `xprof_ns` are the
numbers a viewer with xprof's rules must show; `kernels` and `ops` are sums over all hosts given.

Vary anything: --drop STAT (never write it), --type STAT=int|uint|double|str|ref, --rename OLD=NEW (event name prefix),
--ungroup, --no PART ... See --help. Same arguments give the same bytes.
"""
import argparse, json, os, struct, sys

# ---- protobuf wire format -------------------------------------------------------------------------------------
def vi(n):                                    # varint; negative int64 takes 10 bytes
    n &= (1 << 64) - 1
    if n < 128: return bytes((n,))
    out = bytearray()
    while n > 127: out.append(n & 127 | 128); n >>= 7
    out.append(n)
    return bytes(out)
def fi(f, n): return vi(f << 3) + vi(n)
def fb(f, b):
    if isinstance(b, str): b = b.encode('utf-8', 'surrogateescape')
    return vi(f << 3 | 2) + vi(len(b)) + b
def fd(f, x): return vi(f << 3 | 1) + struct.pack('<d', x)

STEPS_LINE = -559038737                       # int32 0xdeadbeef, sign extended
TF_OPS_LINE = STEPS_LINE + 3

class Plane:
    """One XPlane. Stat and event metadata are interned by name; ids start at 1."""
    def __init__(self, o, id_, name):
        self.o, self.id, self.name = o, id_, name
        self.sm, self.em, self.lines, self.pstats, self.em_extra = {}, {}, [], [], {}
        if 'group_id' not in o.drop and not o.ungroup: self.stat_id('group_id')
    def stat_id(self, name): return self.sm.setdefault(name, len(self.sm) + 1)
    def stat(self, name, v):
        """-> XStat bytes ('' if dropped). Type from the Python value, or from --type. ('ref', s) = interned string."""
        o = self.o
        if name in o.drop: return b''
        ref = isinstance(v, tuple) and v[0] == 'ref'
        raw = v[1] if isinstance(v, tuple) else v
        k = o.types.get(name) or ('ref' if ref else v[0] if isinstance(v, tuple) else
             {str: 'str', float: 'double', bytes: 'bytes', int: 'int'}[type(v)])
        b = fi(1, self.stat_id(o.stat_names.get(name, name)))
        if k == 'int': return b + fi(4, int(raw))
        if k == 'uint': return b + fi(3, int(raw))
        if k == 'double': return b + fd(2, float(raw))
        if k == 'bytes': return b + fb(6, raw)
        if k == 'ref': return b + fi(7, self.stat_id(str(raw)))
        return b + fb(5, raw if isinstance(raw, str) else str(raw))
    def plane_stat(self, name, v):
        s = self.stat(name, v)
        if s: self.pstats.append(s)
    def event_id(self, name):
        for a, b in self.o.renames:
            if name.startswith(a): name = b + name[len(a):]; break
        return self.em.setdefault(name, len(self.em) + 1)
    def display(self, name, display): self.em_extra[self.event_id(name)] = fb(4, display)
    def stats(self, pairs):
        return b''.join(fb(4, s) for s in (self.stat(k, v) for k, v in pairs) if s)
    def event(self, name, begin_ns, dur_ns, pairs=(), raw=b''):
        """-> (begin, -dur, bytes without offset); the line adds the offset."""
        return (begin_ns, -dur_ns, fi(1, self.event_id(name)), (fi(3, dur_ns * 1000) if dur_ns else b'') + self.stats(pairs) + raw)
    def line(self, id_, name, events, display=None):
        self.lines.append((id_, name, events, display))
    def encode(self, base):
        out = [fi(1, self.id), fb(2, self.name)]
        for id_, name, events, disp in self.lines:
            if not self.o.unsorted: events.sort(key=lambda e: e[:2])
            l = [fi(1, id_), fb(2, name), fi(3, base)]
            for begin, _, head, tail in events:
                l.append(fb(4, head + fi(2, begin * 1000) + tail))
            if disp: l.append(fb(11, disp))
            out.append(fb(3, b''.join(l)))
        for name, i in self.em.items():
            out.append(fb(4, fi(1, i) + fb(2, fi(1, i) + fb(2, name) + self.em_extra.get(i, b''))))
        for name, i in self.sm.items():
            out.append(fb(5, fi(1, i) + fb(2, fi(1, i) + fb(2, name))))
        out += [fb(6, s) for s in self.pstats]
        return b''.join(out)

# ---- a small HLO module: makes is_training true, fills hlo_stats, op_profile, roofline, memory_viewer, graph_viewer --
def hlo_proto(training, name='train_step', program_id=7):
    def shape(*d): return fi(2, 11) + fb(3, b''.join(map(vi, d))) + fb(5, fb(1, b''.join(map(vi, reversed(range(len(d)))))))
    sq = shape(1024, 1024)
    def instr(i, name, opcode, ops=(), op_name='', op_type='', extra=b'', sh=sq):
        b = fb(1, name) + fb(2, opcode) + fb(3, sh) + fb(7, fb(1, op_type) + fb(2, op_name)) + extra + fi(35, i)
        return b + (fb(36, b''.join(map(vi, ops))) if ops else b'')
    dot = fb(30, fb(1, vi(1)) + fb(2, vi(0)))                       # contracting dims
    g = 'gradient_tape/' if training else ''
    ins = [instr(1, 'p0', 'parameter', extra=fi(9, 0)), instr(2, 'p1', 'parameter', extra=fi(9, 1)),
           instr(3, 'dot.1', 'dot', (1, 2), 'fwd/layer0/MatMul', 'MatMul', dot),
           instr(4, 'add.2', 'add', (3, 2), g + 'bwd/layer0/add', 'AddV2')]
    prog = fb(1, sq) + fb(1, sq) + fb(2, sq) + fb(3, 'p0') + fb(3, 'p1')
    comp = fb(1, 'main') + b''.join(fb(2, x) for x in ins) + fb(4, prog) + fi(5, 1) + fi(6, 4)
    mod = fb(1, name) + fb(2, 'main') + fb(3, comp) + fb(4, prog) + fi(5, program_id) + fi(6, 1)
    return fb(1, mod)

# ---- categories: name -> (priority, xprof column) ------------------------------------------------------------------
PRI = {'unknown': 0, 'host_compute': 10, 'h2d': 80, 'coll': 100, 'wait_input': 110, 'd2d': 120, 'd2h': 130, 'c32': 140, 'c16': 150}
COLUMN = {'c16': 'deviceComputeTimeMs', 'c32': 'deviceComputeTimeMs', 'd2d': 'deviceToDeviceTimeMs', 'coll': 'deviceCollectivesTimeMs',
          'host_compute': 'hostComputeTimeMs', 'h2d': 'infeedTimeMs', 'wait_input': 'infeedTimeMs', 'd2h': 'outfeedTimeMs', 'unknown': 'otherTimeMs'}

def sweep(begin, end, spans):
    """Exclusive ns per class in [begin, end): at each instant the active class of highest priority gets the time."""
    ev = []
    for c, b, e in spans:
        b, e = max(b, begin), min(e, end)
        if b < e: ev += [(b, 1, c), (e, 0, c)]
    ev.sort(key=lambda x: (x[0], x[1]))
    active, out, last = dict.fromkeys(PRI, 0), dict.fromkeys(PRI, 0), begin
    for t, up, c in ev + [(end, 0, None)]:
        top = max((k for k in active if active[k]), key=PRI.get, default='unknown')
        out[top] += t - last
        last = t
        if c: active[c] += 1 if up else -1
    return {k: v for k, v in out.items() if v}

KERNELS = [  # name, op, type, class, kernel_details, occupancy
    ('ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x3_nn', 'fwd/layer%d/attention/MatMul', 'MatMul', 'c16',
     'regs:234 static_shared:49152 dynamic_shared:0 grid:128,4,1 block:256,1,1 occ_pct:12.5', 12.5),
    ('void cudnn::ln_fwd_kernel<float, 1024>(float const*, float*)', 'fwd/layer%d/norm', 'LayerNorm', 'c32',
     'regs:32 static_shared:0 dynamic_shared:4096 grid:1024,1,1 block:128,1,1 occ_pct:100', 100.0),
    ('void at::native::vectorized_elementwise_kernel<4, relu>(int)', 'fwd/layer%d/mlp/Relu', 'Relu', 'c32',
     'regs:16 static_shared:0 dynamic_shared:0 grid:4096,1,1 block:512,1,1 occ_pct:75', 75.0),
    ('sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize128x128x64', 'bwd/layer%d/attention/MatMul_grad', 'MatMul', 'c32',
     'regs:168 static_shared:0 dynamic_shared:196608 grid:64,2,1 block:384,1,1 occ_pct:18.75', 18.75)]
NCCL = ('ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)',
        'regs:96 static_shared:0 dynamic_shared:82224 grid:24,1,1 block:544,1,1 occ_pct:0', 'nccl/AllReduce:NcclAllReduce')

def build(o, h):
    """-> (bytes, truth) of host number h."""
    host = o.host_names[h]
    gpus = 0 if h in o.cpu_hosts else o.gpus
    def gid(s): return [('group_id', s)] if not o.ungroup else []
    cpu = Plane(o, 1000, o.host_plane)
    dev = [Plane(o, g, '/device:GPU:%d' % g) for g in range(gpus)]
    truth = {'host': host, 'steps': [], 'input': {}, 'memory': {}, 'device_events': 0, 'host_events': 0}
    kern, ops = {}, {}
    ev_main, ev_in, ev_mem, ev_py, ev_mpi, ev_cnt, ev_wire = [], [], [], [], [], [], []
    ev_launch = [[] for _ in dev]
    lines = [{'steps': [], 'compute': [], 'nccl': [], 'copy': [], 'tfops': []} for _ in dev]
    corr = 1
    base = o.job_t0 + o.skew[h]
    begin = base
    kb, gap = max(1, o.kernels // 2), 1000                 # kernels in forward; gap between kernels
    held = [0] * max(1, gpus)                               # allocator state per GPU
    live = [[] for _ in held]
    def note(d, key, ns, n=1):
        r = d.setdefault(key, {'count': 0, 'total_ns': 0, 'min_ns': 1 << 62, 'max_ns': 0})
        r['count'] += n; r['total_ns'] += ns; r['min_ns'] = min(r['min_ns'], ns); r['max_ns'] = max(r['max_ns'], ns)
    def dev_event(g, line, name, b, d, cls, s, details=None, op=None, extra=()):
        nonlocal corr
        st = gid(s) + [('correlation_id', ('uint', corr))]
        if details: st.append(('kernel_details', ('ref', details)))
        if op: st.append(('tf_op', ('ref', op)))
        if o.flow: st.append(('flow', ('uint', corr << 2 | 1 | 9 << 58)))
        lines[g][line].append(dev[g].event(name, b, d, st + list(extra)))
        if 'launch' not in o.no:
            lb = b - 20000 if b - 20000 > begin else begin
            ev_launch[g].append(cpu.event('cudaLaunchKernel' if details else 'cudaMemcpyAsync', lb, gap - 200,
                gid(s) + [('correlation_id', ('uint', corr)), ('device_id', g)] + ([('flow', ('uint', corr << 2 | 2 | 9 << 58))] if o.flow else [])))
            truth['host_events'] += 1
        corr += 1
        spans.append((cls, b, b + d)); truth['device_events'] += 1
        if details: note(kern, name, d)
        if op: note(ops, op, d)
    def mem_event(g, s, t, nbytes, op, region, addr):
        held[g] += nbytes
        peak = truth['memory'].setdefault('GPU_%d_bfc' % g, {'peak_bytes': 0, 'events': 0})
        peak['peak_bytes'] = max(peak['peak_bytes'], held[g]); peak['events'] += 1
        ev_mem.append(cpu.event('MemoryAllocation' if nbytes > 0 else 'MemoryDeallocation', t, 0, gid(s) + [
            ('allocator_name', ('ref', 'GPU_%d_bfc' % g)), ('bytes_reserved', 0), ('bytes_allocated', held[g]),
            ('bytes_available', o.card_bytes - held[g]), ('fragmentation', 0.0), ('peak_bytes_in_use', peak['peak_bytes']),
            ('requested_bytes', abs(nbytes)), ('allocation_bytes', abs(nbytes)), ('addr', addr),
            ('tf_op', ('ref', op)), ('region_type', ('ref', region)), ('data_type', 14), ('shape', ('ref', 'bf16[1024,1024]'))]))
    for s in range(o.first_step, o.first_step + o.steps):
        T = o.step_ns + (s % 5) * 100000
        slow = o.straggle_ns if h == o.straggler else 0
        spans = []
        name = o.step_event or 'step'
        # -- host
        step_stats = gid(s) + ([('step_name', ('ref', str(s)))] if not o.ungroup else [('_r', 1), ('step_num', s)])
        ev_main.append(cpu.event(name, begin, T, step_stats))
        ev_py.append(cpu.event('$train.py:42 train_step', begin + 1000, T - 2000, gid(s)))
        ev_py.append(cpu.event('$model.py:7 forward', begin + 2000000, T // 3, gid(s)))
        wait = 1000000 + (s % 3) * 100000
        if 'input' not in o.no:
            ev_main.append(cpu.event('IteratorGetNext:IteratorGetNext', begin + 10000, wait - 20000, gid(s)))
            for k, (nm, d, idn, par) in enumerate((('Iterator::Prefetch', 3000000, 1, 0), ('Iterator::Prefetch::Map', 2500000, 2, 1),
                                                   ('Iterator::Prefetch::Map::TFRecord', 1500000, 3, 2))):
                ev_in.append(cpu.event(nm, begin + 100000 + k * 1000, d, gid(s) + [('id', idn), ('parent_id', par)]))
                note(truth['input'], nm, d)
            ev_in.append(cpu.event('InfeedEnqueueTuple:InfeedEnqueueTuple', begin + 4000000, 200000, gid(s)))
        if 'mpi' not in o.no:
            ev_mpi.append(cpu.event('MPI_Allreduce:MPI_Allreduce', begin + T - 900000, 400000, gid(s) + [('bytes', 4096)]))
        ev_cnt.append(cpu.event('power_w', begin, 0, [('gpu0', 300 + s), ('gpu1', 310 + s)]))
        ev_wire.append((s, begin + T // 2))
        truth['host_events'] += 3
        # -- devices
        comp = (T - wait - 4000000 - o.max_straggle) // max(1, o.kernels)    # one kernel and the gap after it
        for g in range(gpus):
            t = begin + wait + g * 3000
            details = 'num_bytes:%d\nkind:h2d' % o.copy_bytes
            dev_event(g, 'copy', 'MemcpyHToD', t, 500000, 'h2d', s, op=None, extra=[('memcpy_details', ('ref', details))])
            t += 500000
            for k in range(o.kernels):
                if k == kb:
                    dev_event(g, 'copy', 'MemcpyDToD', t, 100000, 'd2d', s, extra=[('memcpy_details', ('ref', 'num_bytes:65536\nkind:d2d'))])
                    t += 100000
                    dev_event(g, 'copy', 'MemcpyDToD (P2P)', t, 50000, 'd2d', s, extra=[('memcpy_details', ('ref', 'num_bytes:32768\nkind:p2p'))])
                    t += 50000
                    dev_event(g, 'nccl', NCCL[0], t, 800000, 'coll', s, NCCL[1], NCCL[2])     # hidden under backward
                q = k % 3 if k < kb else 3
                kn, op, ty, cls, kd, occ = KERNELS[q]
                d = comp - gap + (slow // o.kernels if slow else 0) - (g * 7 + s * 3 + k) % 100
                layer = k % o.layers
                op = (op % layer) + ':' + ty
                if o.jax: op = 'jit(train_step)/' + op.split(':')[0] + ':'
                sh = []
                if o.bf16 and q == 3: sh, cls = [('shape', ('ref', '(half[1024,1024])'))], 'c16'
                if o.hlo and q in (0, 3): sh += [('hlo_op', ('ref', 'dot.1' if q == 0 else 'add.2')), ('hlo_module', ('ref', 'train_step')), ('program_id', 7)]
                dev_event(g, 'compute', kn, t, d, cls, s, kd, op, sh + [('theoretical_occupancy_pct', occ)])
                if 'tfops' in o.with_: lines[g]['tfops'].append(dev[g].event(op, t, d, gid(s)))
                t += comp + (slow // o.kernels if slow else 0)
            end_coll = begin + T - 1000000                                   # all ranks leave the last collective together
            dev_event(g, 'nccl', NCCL[0], t, end_coll - t, 'coll', s, NCCL[1], NCCL[2])
            dev_event(g, 'compute', KERNELS[2][0], end_coll, 200000, 'c32', s, KERNELS[2][4], 'optimizer/AdamUpdate:AdamUpdate', [('theoretical_occupancy_pct', 75.0)])
            dev_event(g, 'copy', 'MemcpyDToH', end_coll + 200000, 50000, 'd2h', s, extra=[('memcpy_details', ('ref', 'num_bytes:4\nkind:d2h'))])
            lines[g]['steps'].append(dev[g].event(str(s), begin, T, gid(s) + [('step_name', ('ref', str(s)))]))
            if 'memory' not in o.no:
                if s == o.first_step:
                    for w in range(o.layers):
                        mem_event(g, s, begin + 1000 + w, 64 << 20, 'weights/layer%d:VariableV2' % w, 'persist/dynamic', (g + 1) << 40 | w << 28)
                for k in range(o.layers):
                    a = (g + 1) << 40 | 1 << 36 | k << 24
                    mem_event(g, s, begin + wait + 500000 + k * 1000 + g, (k + 1) << 20, 'fwd/layer%d/attention/MatMul:MatMul' % k, 'temp', a)
                    live[g].append((k, a))
                for k, a in reversed(live[g]):
                    mem_event(g, s, begin + T - 300000 - k * 1000 + g, -((k + 1) << 20), '', '', a)
                live[g].clear()
        if not gpus:
            for c, b, d, nm in (('host_compute', begin + wait, 5000000, 'cpu/MatMul:MatMul'), ('host_compute', begin + wait + 6000000, 3000000, 'cpu/Adam:Adam')):
                ev_main.append(cpu.event(nm, b, d, gid(s))); spans.append((c, b, b + d)); note(ops, nm, d)
            if 'input' not in o.no: spans += [('wait_input', begin + 10000, begin + wait - 10000), ('h2d', begin + 4000000, begin + 4200000)]
            spans.append(('host_compute', begin + 1000, begin + T - 1000))   # the Python ranges count too
        x = sweep(begin, begin + T, spans)
        cols = {}
        for k, v in x.items(): cols[COLUMN[k]] = cols.get(COLUMN[k], 0) + v
        truth['steps'].append({'step': s, 'begin_ns': begin, 'duration_ns': T, 'class_ns': x, 'xprof_ns': cols})
        begin += T + o.gap_ns
    # -- planes
    if 'steps' not in o.no:
        for g, p in enumerate(dev):
            if not o.ungroup: p.line(STEPS_LINE, 'Steps', lines[g]['steps'])
    for g, p in enumerate(dev):
        L = lines[g]
        if L['tfops']: p.line(TF_OPS_LINE, 'Framework Ops', L['tfops'])
        p.line(7, 'Stream #7(Compute)', L['compute'])
        p.line(13, 'Stream #13(NCCL)', L['nccl'])
        p.line(14, 'Stream #14(MemcpyH2D,MemcpyD2H)', L['copy'])
        for k, v in (('device_vendor', 'Nvidia'), ('gpu_device_name', 'NVIDIA H100 80GB HBM3'), ('compute_cap_major', 9), ('compute_cap_minor', 0),
                     ('clock_rate', 1980000), ('core_count', 132), ('memory_bandwidth', 3352320000000), ('memory_size', o.card_bytes)):
            p.plane_stat(k, v)
    if 'launchmain' in o.with_: ev_main += sum(ev_launch, [])
    cpu.line(100, 'rank 0 / main', ev_main)
    cpu.line(101, 'python', ev_py)
    if ev_in: cpu.line(102, 'tf_data_private_threadpool/0', ev_in)
    if ev_mem: cpu.line(103, 'allocator', ev_mem)
    if ev_mpi: cpu.display('MPI_Allreduce:MPI_Allreduce', 'MPI_Allreduce'); cpu.line(104, 'MPI', ev_mpi)
    if 'counters' in o.with_: cpu.line(105, '_counters_', ev_cnt)
    for g in range(gpus):
        if ev_launch[g] and 'launchmain' not in o.with_: cpu.line(110 + g, 'rank %d / launch' % g, ev_launch[g])
    planes = [cpu] + dev
    if 'custom' in o.with_:
        p = Plane(o, 0, '/device:CUSTOM:NCCL proxy'); p.line(1, 'channel 0', [p.event('send', t, 100000, gid(s)) for s, t in ev_wire]); planes.append(p)
    if 'pyplane' in o.with_:
        p = Plane(o, 1001, '/host:python-tracer'); p.line(1, 'python', [p.event('$x.py:1 f', t, 100000, gid(s)) for s, t in ev_wire]); planes.append(p)
    if o.hlo:
        p = Plane(o, 1002, '/host:metadata')
        p.em['train_step(7)'] = 7
        p.em_extra[7] = fb(5, p.stat('Hlo Proto', hlo_proto(o.hlo == 'training')))
        planes.append(p)
    te = Plane(o, 1003, 'Task Environment')
    te.plane_stat('profile_start_time', ('uint', 1790000000 * 10**9)); te.plane_stat('profile_stop_time', ('uint', 1790000000 * 10**9 + begin))
    planes.append(te)
    if o.only: planes = [p for p in planes if any(p.name.startswith(x) for x in o.only)]
    b0 = o.epoch_ns
    body = b''.join(fb(1, p.encode(b0)) for p in planes)
    for w in o.warning: body += fb(3, '%s: %s' % (host, w))
    for e in o.error: body += fb(2, '%s: %s' % (host, e))
    if 'hostname' not in o.no: body += fb(4, o.same_hostname or host)
    truth['kernels'], truth['ops'] = kern, ops
    return body, truth

def parse(argv):
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('dir', help='session directory, or - for truth only')
    a.add_argument('--hosts', type=int, default=2); a.add_argument('--gpus', type=int, default=2); a.add_argument('--steps', type=int, default=12)
    a.add_argument('--first-step', type=int, default=10, help='number of the first step')
    a.add_argument('--kernels', type=int, default=40, help='compute kernels per step and GPU')
    a.add_argument('--events', type=int, default=0, help='choose --kernels so that each host has about this many events')
    a.add_argument('--layers', type=int, default=8)
    a.add_argument('--step-ns', type=int, default=20_000_000); a.add_argument('--gap-ns', type=int, default=0, help='between steps')
    a.add_argument('--job-t0', type=int, default=1_000_000, help='first step begins here (ns since the job epoch)')
    a.add_argument('--epoch-ns', type=int, default=0, help='line.timestamp_ns of all lines (wrong if it is Unix time)')
    a.add_argument('--skew-ns', default='', help='clock error per host, comma separated')
    a.add_argument('--straggler', type=int, default=1); a.add_argument('--straggle-ns', type=int, default=2_000_000)
    a.add_argument('--cpu-hosts', default='', help='numbers of hosts without GPU')
    a.add_argument('--names', default='', help='host names, comma separated (default node00, node01 ...)')
    a.add_argument('--same-hostname', default='', help='write this XSpace.hostnames entry in every file')
    a.add_argument('--host-plane', default='/host:CPU')
    a.add_argument('--hlo', choices=['training', 'inference'], help='add /host:metadata with an HLO module, hlo_op on some kernels')
    a.add_argument('--bf16', action='store_true', help='shape "(half...)" on the bf16 kernels')
    a.add_argument('--jax', action='store_true', help='JAX-style op names'); a.add_argument('--flow', action='store_true', help='launch flow ids')
    a.add_argument('--ungroup', action='store_true', help='approach A: no group_id, no Steps line; _r and step_num on the step event')
    a.add_argument('--step-event', default='', help='name of the step event on the host')
    a.add_argument('--drop', action='append', default=[]); a.add_argument('--type', action='append', default=[], metavar='STAT=KIND')
    a.add_argument('--stat-name', action='append', default=[], metavar='STAT=NEWNAME'); a.add_argument('--rename', action='append', default=[], metavar='OLD=NEW')
    a.add_argument('--no', action='append', default=[], choices=['steps', 'launch', 'input', 'mpi', 'memory', 'hostname'])
    a.add_argument('--with', dest='with_', action='append', default=[], choices=['counters', 'custom', 'pyplane', 'tfops', 'launchmain'])
    a.add_argument('--only', action='append', default=[], help='keep planes whose name begins so')
    a.add_argument('--unsorted', action='store_true'); a.add_argument('--warning', action='append', default=[]); a.add_argument('--error', action='append', default=[])
    a.add_argument('--copy-bytes', type=int, default=1 << 20); a.add_argument('--card-bytes', type=int, default=80 << 30)
    a.add_argument('--truth', action='store_true', help='print the ground truth as JSON')
    o = a.parse_args(argv)
    o.types = dict(x.split('=', 1) for x in o.type); o.stat_names = dict(x.split('=', 1) for x in o.stat_name)
    o.renames = [x.split('=', 1) for x in o.rename]; o.drop = set(o.drop)
    o.cpu_hosts = {int(x) for x in o.cpu_hosts.split(',') if x}
    o.skew = ([int(x) for x in o.skew_ns.split(',') if x] + [0] * o.hosts)[:o.hosts]
    o.host_names = o.names.split(',') if o.names else ['node%02d' % h for h in range(o.hosts)]
    o.max_straggle = o.straggle_ns if o.straggler < o.hosts else 0
    if o.events: o.kernels = max(4, (o.events // (o.steps * max(1, o.gpus)) // (1 if 'launch' in o.no else 2)) - 7)
    return o

def main(argv):
    o = parse(argv)
    truths = []
    if o.dir != '-': os.makedirs(o.dir, exist_ok=True)
    for h in range(o.hosts):
        body, truth = build(o, h)
        truth['bytes'] = len(body)
        truths.append(truth)
        if o.dir != '-':
            path = os.path.join(o.dir, o.host_names[h] + '.xplane.pb')
            with open(path + '.part', 'wb') as f: f.write(body)
            os.replace(path + '.part', path)
    if o.truth:
        merged = {}
        for key in ('kernels', 'ops', 'input'):
            m = merged[key] = {}
            for t in truths:
                for n, r in t[key].items():
                    x = m.setdefault(n, {'count': 0, 'total_ns': 0, 'min_ns': 1 << 62, 'max_ns': 0})
                    x['count'] += r['count']; x['total_ns'] += r['total_ns']; x['min_ns'] = min(x['min_ns'], r['min_ns']); x['max_ns'] = max(x['max_ns'], r['max_ns'])
        json.dump({'hosts': truths, **merged}, sys.stdout, indent=1)
        print()

if __name__ == '__main__': main(sys.argv[1:])
