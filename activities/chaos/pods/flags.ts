// The flags of `pawl node-agent` for chaos pods.

import type { FlagTable } from '../../../workflows/kit/index.ts'

export const CHAOS_POD_FLAGS = {
  'chaos-namespace': {
    reads: 'text',
    takes: '<name>',
    otherwise: 'chaos-engineering',
    text: 'where chaos pods are',
  },
  injector: {
    reads: 'text',
    takes: '<command>',
    default: 'pawl injector',
    text: 'program and arguments of the injector, separated by spaces; the pod\'s follow. "COMMAND sweep" undoes what a killed one has left',
    accepts: (text: string) => text.trim() !== '',
    expected: 'a program',
  },
  'node-level': {
    reads: 'choice',
    takes: '<refuse-or-allow>',
    of: ['refuse', 'allow'],
    otherwise: 'refuse',
    text: 'whether a disruption of level node may disturb this machine',
  },
  'no-process': {
    reads: 'choice',
    takes: '<fail-or-simulate>',
    of: ['fail', 'simulate'],
    otherwise: 'fail',
    text: 'a disruption of a node, or of a pod that names no process, fails, or is planned, reported and simulated',
  },
  'processes-annotation': {
    reads: 'text',
    takes: '<key>',
    otherwise: 'pawl.dev/processes',
    text: 'annotation of target pods with the processes of their containers',
  },
} as const satisfies FlagTable

export type ChaosPodFlags = typeof CHAOS_POD_FLAGS
