/* The first screen's charts: strip of steps, heat map and timeline, which share rows, columns and the selection (select.js). */
'use strict';

const Board = {
  start() {},
  draw() {},
};
