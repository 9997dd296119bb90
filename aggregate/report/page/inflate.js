/* Inflates raw deflate (RFC 1951) at once, for printing: a browser's DecompressionStream comes too late for it. */
'use strict';

const Inflate = {
  order: [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15], /* of the lengths of the code for lengths */

  /* What each symbol of a length or a distance begins with, and how many bits follow. */
  ranges(first, count, step) {
    const base = new Uint16Array(count), extra = new Uint8Array(count);
    for (let i = 0, at = first; i < count; i++) {
      base[i] = at;
      extra[i] = Math.max(0, Math.floor(i / step) - 1);
      at += 1 << extra[i];
    }
    return {base, extra};
  },
  /* Symbol << 4 | bits of its code, by the next bits of the input, the first one lowest. */
  table(lengths) {
    const most = Math.max(1, ...lengths), map = new Uint16Array(1 << most);
    for (let bits = 1, code = 0; bits <= most; bits++, code <<= 1)
      for (let symbol = 0; symbol < lengths.length; symbol++)
        if (lengths[symbol] === bits) {
          let at = 0;
          for (let b = 0; b < bits; b++)
            at |= (code >> b & 1) << bits - 1 - b;
          for (; at < map.length; at += 1 << bits)
            map[at] = symbol << 4 | bits;
          code++;
        }
    return {map, mask: map.length - 1, most};
  },
  fixed() {
    const lengths = Array.from({length: 288}, (unused, i) => i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
    return [Inflate.table(lengths), Inflate.table(new Array(30).fill(5))];
  },

  all(input) {
    const length = Inflate.ranges(3, 28, 4), distance = Inflate.ranges(1, 30, 2), r = new Inflate.Reader(input);
    length.base = [...length.base, 258];
    length.extra = [...length.extra, 0];
    for (let last = 0; !last;) {
      last = r.take(1);
      const kind = r.take(2);
      if (kind === 0)
        r.stored();
      else if (kind === 3)
        throw new Error('a packed part is damaged');
      else
        r.block(...kind === 1 ? Inflate.fixed() : r.tables(), length, distance);
    }
    return r.out.subarray(0, r.n);
  },

  Reader: class {
    constructor(input) {
      Object.assign(this, {input, at: 0, hold: 0, bits: 0, out: new Uint8Array(Math.max(1024, 4 * input.length)), n: 0});
    } fill(bits) {
      while (this.bits < bits) {
        if (this.at > this.input.length + 4)
          throw new Error('a packed part is cut off');
        this.hold |= (this.input[this.at++] || 0) << this.bits; /* a code at the end may be shorter than what is looked at */
        this.bits += 8;
      }
    } take(bits) {
      this.fill(bits);
      const value = this.hold & (1 << bits) - 1;
      this.hold >>>= bits;
      this.bits -= bits;
      return value;
    } symbol({map, mask, most}) {
      this.fill(most);
      const entry = map[this.hold & mask];
      if (!entry)
        throw new Error('a packed part is damaged');
      this.hold >>>= entry&15;
      this.bits -= entry & 15;
      return entry >> 4;
    } room(n) {
      if (this.n + n <= this.out.length)
        return;
      const more = new Uint8Array(2 * (this.n + n));
      more.set(this.out.subarray(0, this.n));
      this.out = more;
    } stored() {
      this.at -= this.bits >> 3;
      this.hold = this.bits = 0;
      const n = this.input[this.at] | this.input[this.at + 1] << 8, from = this.at + 4;
      if (from + n > this.input.length)
        throw new Error('a packed part is cut off');
      this.room(n);
      this.out.set(this.input.subarray(from, from + n), this.n);
      this.n += n;
      this.at = from + n;
    } tables() {
      const literals = this.take(5) + 257, distances = this.take(5) + 1, codes = this.take(4) + 4, of = new Array(19).fill(0),
            lengths = [];
      for (let i = 0; i < codes; i++)
        of[Inflate.order[i]] = this.take(3);
      const table = Inflate.table(of);
      while (lengths.length < literals + distances) {
        const symbol = this.symbol(table), value = symbol === 16 ? lengths[lengths.length - 1] || 0 : 0;
        const times = symbol === 16 ? 3 + this.take(2) : symbol === 17 ? 3 + this.take(3) : symbol === 18 ? 11 + this.take(7) : 0;
        if (symbol < 16)
          lengths.push(symbol);
        for (let i = 0; i < times; i++)
          lengths.push(value);
      }
      return [Inflate.table(lengths.slice(0, literals)), Inflate.table(lengths.slice(literals, literals + distances))];
    } block(literals, distances, length, distance) {
      for (let symbol = this.symbol(literals); symbol !== 256; symbol = this.symbol(literals)) {
        this.room(258);
        if (symbol < 256) {
          this.out[this.n++] = symbol;
          continue;
        }
        const n = length.base[symbol - 257] + this.take(length.extra[symbol - 257]), far = this.symbol(distances),
              back = distance.base[far] + this.take(distance.extra[far]);
        if (!(back <= this.n))
          throw new Error('a packed part is damaged');
        for (let i = 0; i < n; i++, this.n++)
          this.out[this.n] = this.out[this.n - back];
      }
    }
  },
};
