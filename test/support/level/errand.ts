// A kind whose controller calls a server once, stores the answer in a ConfigMap, and completes.

import {
  action,
  activitiesOf,
  defineKind,
  defineLevel,
  done,
  flag,
  type LevelPass,
  type ObjectOf,
  record,
  required,
  sequential,
  type Step,
  text,
} from 'pawl/kit'
import type { ConfigMap } from 'pawl/kit/v1'

import { TEST_KIND } from './test-kind.ts'

export const errandKind = defineKind({
  ...TEST_KIND,
  group: 'errands.test.pawl.dev',
  kind: 'Errand',
  plural: 'errands',
  singular: 'errand',
  schema: {
    spec: required(
      record('What is wanted.', {
        url: required(text('Of a program that answers when it likes.')),
        isDeaf: flag('Whether the activity goes on when nobody waits.', { default: false }),
      }),
    ),
    status: record('What is there.', { answer: text('What the program said.') }),
  },
})

type Errand = ObjectOf<typeof errandKind>
export type ErrandPass = LevelPass<{ readonly note: ConfigMap | undefined }, Errand>

// The SDK throttles heartbeats to one per 80 % of this time-out. The remaining 2 s must suffice on a busy machine.
const HEARTBEAT_MS = 10_000

const errands = activitiesOf(() => import('./errand.activities.ts'), {
  run: { timeoutMs: 120_000, heartbeatMs: HEARTBEAT_MS, retryMs: 100 },
})

const runErrand = action<ErrandPass>('runErrand', async ({ target, call, status }) => {
  const { url, isDeaf } = target.spec
  status.answer = target.status?.answer ?? (await call(errands).run({ url, isDeaf }))
  return done
})

const keepNote = action<ErrandPass>('keepNote', async ({ target, act, status }) => {
  const { name } = target.metadata
  await act.apply<ConfigMap>({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: { answer: status.answer ?? '' },
  })
  return done
})

export const errandController = (...before: readonly Step<ErrandPass>[]) =>
  defineLevel({
    name: 'errand',
    target: errandKind,
    activities: errands,
    writes: ['v1/ConfigMap'],
    queries: { note: { kind: 'v1/ConfigMap', name: '${target.metadata.name}', owned: true } },
    plan: sequential(...before, runErrand, keepNote),
  })

export const controllers = [errandController()]
