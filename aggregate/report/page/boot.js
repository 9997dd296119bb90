/* Starts report.html and the page of podprof diff: their program stands in them compressed. Without it, the page keeps its text. */
'use strict';

(async () => {
  try {
    const plain = atob(document.getElementById('app').textContent), packed = new Uint8Array(plain.length);
    for (let i = 0; i < plain.length; i++)
      packed[i] = plain.charCodeAt(i);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip')),
          script = document.createElement('script');
    script.textContent = await new Response(stream).text() + '\n//# sourceURL=podprof-page.js\n';
    document.head.append(script);
    script.remove();
  } catch (e) {
    const note = document.createElement('p');
    note.className = 'missing';
    note.id = 'failed';
    note.textContent =
        `The charts of this page cannot be shown: ${e.message}. Use a browser of 2023 or newer (DecompressionStream). ` +
        'The text of this page is complete without them.';
    document.getElementById('main').prepend(note);
  }
})();
