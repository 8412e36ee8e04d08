// Three controllers of one kind that differ in how they are run, for tests on real servers. Each calls the program of the test in every pass.

import {
  action,
  activitiesOf,
  defineKind,
  defineLevel,
  done,
  type LevelPass,
  type LevelSettings,
  type ObjectOf,
  record,
  required,
  text,
} from 'pawl/kit'

import { TEST_KIND } from './test-kind.ts'

export const crateKind = defineKind({
  ...TEST_KIND,
  group: 'settings.test.pawl.dev',
  kind: 'Crate',
  plural: 'crates',
  singular: 'crate',
  workerVerbs: [],
  schema: {
    spec: required(record('What is wanted.', { url: required(text('Of the program that is called.')) })),
    status: record('What is there.', {
      slow: text('What the program said to the bounded controller.'),
      quick: text('What it said to the one that is not bounded.'),
      apart: text('What it said to the one with a queue of its own.'),
    }),
  },
})

type Pass = LevelPass<object, ObjectOf<typeof crateKind>>

const calls = activitiesOf(() => import('./crate.activities.ts'), { call: { timeoutMs: 60_000 } })

function calling(name: 'slow' | 'quick' | 'apart', settings?: LevelSettings) {
  const ask = action<Pass>(name, async ({ target, call, status }) => {
    status[name] = await call(calls).call({ url: `${target.spec.url}${name}` })
    return done
  })
  return defineLevel<object, ObjectOf<typeof crateKind>>({
    name,
    target: crateKind,
    queries: {},
    plan: ask,
    activities: calls,
    ...(settings !== undefined && { settings }),
  })
}

export const controllers = [calling('slow', { passes: 2 }), calling('quick'), calling('apart', { queue: 'apart' })]
