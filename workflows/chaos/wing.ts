// What the wing needs of a worker that runs it. It disturbs what runs in a cluster, so a process serves it only where `--wings` names it.

import type { Wing } from '../kit/index.ts'

export const chaosWing = {
  flags: {},
  workerRules: [],
  onlyWhenNamed: true,
} as const satisfies Wing
