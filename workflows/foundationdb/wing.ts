// The wing's flags, metrics and webhook. Its controllers run programs of FoundationDB, so a process serves this wing only
// if `--wings` names it.

import type { Wing } from '../kit/index.ts'
import { FOUNDATIONDB_METRICS } from './metrics.ts'

export const foundationdbWing = {
  flags: {
    'fdb-bin': {
      reads: 'text',
      takes: '<dir>',
      text: "folder with FoundationDB's tools",
      default: '$PAWL_FDB_BIN, then $PATH',
      inDev: 'as-given',
    },
    'fdb-simulator': {
      reads: 'yes-or-no',
      takes: '<yes-or-no>',
      text: "use a simulator where FoundationDB's tools are missing; for development and tests",
      otherwise: 'no',
      inDev: 'own-server',
      seldom: true,
    },
    'fdb-recovery-wait': {
      reads: 'duration',
      takes: '<duration>',
      text: 'longest wait after a recovery of a database before the next disturbance; for tests',
      otherwise: '10m',
      inDev: 'as-given',
      seldom: true,
    },
  },
  workerRules: [],
  metrics: FOUNDATIONDB_METRICS,
  onlyWhenNamed: true,
  // No label exempts an object from the rules: custom parameters and URLs become arguments of programs.
  admission: {
    configuration: 'foundationdb-validation-webhook',
    domain: 'validation.apps.foundationdb.org',
  },
} as const satisfies Wing
