// The flags of processes that are asked over HTTP: how they end, and where they say how they are.

import type { FlagTable } from './flags.ts'

export const ANSWERING_FLAGS = {
  'drain-ms': {
    takes: '<ms>',
    reads: 'number',
    least: 0,
    otherwise: 5000,
    text: 'how long it still answers after SIGTERM, until nobody is sent to it any more',
  },
  'health-host': {
    takes: '<address>',
    reads: 'text',
    text: 'where /healthz and /readyz are served',
    otherwise: '127.0.0.1',
  },
  'health-port': {
    takes: '<port>',
    reads: 'number',
    least: 0,
    otherwise: 0,
    text: 'their port',
    default: 'a free one, logged',
  },
} as const satisfies FlagTable
