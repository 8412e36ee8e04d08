// What the wing needs of a worker that runs it: a flag, and rights on Kubernetes' own kinds.

import type { Wing } from '../kit/index.ts'

export const landscaperWing = {
  flags: {
    'pickup-timeout': {
      ...{ takes: '<duration>', reads: 'duration', otherwise: '5m' },
      text: 'how long an item waits for a deployer that its job does not run, or none',
    },
    deployers: {
      ...{ takes: '<types>', reads: 'text', default: 'all' },
      text: 'deploy only items of these types, such as mock,kubernetes-manifest',
    },
  },
  workerRules: [
    // Imports and exports are read and written by name; nothing needs a list of Secrets.
    { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'update', 'patch', 'delete'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
    // Targets with `selfConfig`: the account of the user deploys, not the worker's.
    { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] },
  ],
} as const satisfies Wing
