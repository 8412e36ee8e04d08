// A kind, and parts of its controllers before and after code changes. Each controller applies a ConfigMap that contains
// the name of the latest code version, and waits until `spec.go` is true.

import {
  action,
  conditionsField,
  defineKind,
  done,
  flag,
  type LevelPass,
  type ObjectMeta,
  type ObjectOf,
  record,
  required,
  type StateQuery,
  type Step,
  stop,
  text,
} from 'pawl/kit'

import { TEST_KIND } from '../level/test-kind.ts'

export const roverKind = defineKind({
  ...TEST_KIND,
  group: 'changes.test.pawl.dev',
  kind: 'Rover',
  plural: 'rovers',
  singular: 'rover',
  schema: {
    spec: required(record('What is wanted.', { go: flag('Whether it may go.'), nickname: text('For the bug.') })),
    status: record('What is there.', { nickname: text('For the bug.'), conditions: conditionsField }),
  },
})

type Rover = ObjectOf<typeof roverKind>

export interface ConfigMap {
  readonly apiVersion: 'v1'
  readonly kind: 'ConfigMap'
  readonly metadata: ObjectMeta
  readonly data?: Readonly<Record<string, string>>
}

export interface RoverState {
  readonly map: ConfigMap | undefined
  /** Only changed code queries these objects. */
  readonly more: readonly ConfigMap[]
}

export type Pass = LevelPass<RoverState, Rover>

export const CONTROLLERS = ['more', 'less', 'renamed', 'reordered', 'query', 'buggy'] as const
export type Name = (typeof CONTROLLERS)[number]

type Queries = Readonly<Record<keyof RoverState, StateQuery>>

/** The queries before the code change: `more` is missing, and no step reads it. */
export const queriesOf = (name: Name): Queries => {
  const map: StateQuery = { kind: 'v1/ConfigMap', name: `\${target.metadata.name}-${name}`, owned: true }
  return { map } as unknown as Queries
}

export const applyMap = (controller: Name, code: string): Step<Pass> =>
  action<Pass>('applyMap', async ({ target, act }) => {
    const metadata = { name: `${target.metadata.name}-${controller}` }
    await act.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { code } })
    return done
  })

export const readMap: Step<Pass> = action<Pass>('readMap', async (pass) => {
  await pass.refresh('map')
  return done
})

export const waitToGo: Step<Pass> = action<Pass>('waitToGo', ({ target }) =>
  target.spec.go === true ? done : stop('waits until it may go'),
)
