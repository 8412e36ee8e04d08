// Generated from everything.cm. Do not edit; run `npx pawl gen`.

import { action, type LevelPass, type Outcome, type StateQuery, type Step } from '../../../../../workflows/kit/index.ts'
import type { Job, Job as BatchJob } from './batch.ts'
import type { Node, Pod } from './core.ts'
import type { CronJob as Cron } from './cron-job.ts'

export interface CronState {
  /** All jobs, old and new. */
  readonly jobs: readonly Job[]
  readonly leader: Pod | undefined
  readonly everything: readonly Pod[]
  readonly nodes: readonly Node[]
  readonly httpPods: readonly Pod[]
  readonly other: BatchJob | undefined
}

export const cronQueries = {
  jobs: {
    kind: 'batch/v1/Job',
    many: true,
    labels: { 'app.kubernetes.io/name': '${target.metadata.name}' },
    owned: true,
  },
  leader: {
    kind: 'v1/Pod',
    name: '${target.metadata.name}-x-${target.metadata.namespace}',
    namespace: 'kube-system',
    owned: true,
    fresh: true,
  },
  everything: { kind: 'v1/Pod', many: true },
  nodes: {
    kind: 'v1/Node',
    many: true,
    labels: { a: '', b: 'c', 'example.com/a-rather-long-name-of-a-label': '${target.metadata.labels.color}' },
    fresh: true,
  },
  httpPods: {
    kind: 'v1/Pod',
    many: true,
    fields: { 'spec.nodeName': '${target.spec.node}', 'metadata.namespace': 'default' },
  },
  other: { kind: 'batch/v1/Job', labels: { app: '${target.metadata.name}' }, controller: '${target.metadata.name}' },
} as const satisfies Record<keyof CronState, StateQuery>

/**
 * Runs the parts that belong together.
 *
 * Ends *\/ nothing.
 */
export type CronPass = LevelPass<CronState, Cron>

export interface CronActions {
  tidyUp(pass: CronPass, jobs: readonly Job[], leader: Pod | undefined): Promise<Outcome>
  /** Checks. */
  delete(
    pass: CronPass,
    httpPods: readonly Pod[],
    other: BatchJob | undefined,
    everything: readonly Pod[],
    nodes: readonly Node[],
  ): Promise<Outcome>
  check(pass: CronPass): Promise<Outcome>
}

export function cronSteps(actions: CronActions): Readonly<Record<keyof CronActions, Step<CronPass>>> {
  return {
    tidyUp: action('tidyUp', async (pass) => actions.tidyUp(pass, pass.state.jobs, await pass.refresh('leader'))),
    delete: action('delete', async (pass) =>
      actions.delete(pass, pass.state.httpPods, pass.state.other, pass.state.everything, await pass.refresh('nodes')),
    ),
    check: action('check', (pass) => actions.check(pass)),
  }
}

export interface JanitorState {
  readonly jobs: readonly Job[]
}

export const janitorQueries = {
  jobs: { kind: 'batch/v1/Job', many: true, owned: true },
} as const satisfies Record<keyof JanitorState, StateQuery>

/** A second controller of the same kind; actions may have the same names. */
export type JanitorPass = LevelPass<JanitorState, Cron>

export interface JanitorActions {
  tidyUp(pass: JanitorPass, jobs: readonly Job[]): Promise<Outcome>
}

export function janitorSteps(actions: JanitorActions): Readonly<Record<keyof JanitorActions, Step<JanitorPass>>> {
  return {
    tidyUp: action('tidyUp', (pass) => actions.tidyUp(pass, pass.state.jobs)),
  }
}

export interface WatcherState {
  readonly picked: readonly Pod[]
  readonly names: readonly Pod[]
  readonly chosen: Pod | undefined
}

export const watcherQueries = {
  picked: {
    kind: 'v1/Pod',
    many: true,
    namespacesFrom: 'spec.node',
    labelsFrom: 'spec.template',
    pick: ['spec.node', 'metadata.labels.app.kubernetes.io/name'],
  },
  names: { kind: 'v1/Pod', many: true, namespace: '*', owned: 'label', pick: [] },
  chosen: {
    kind: 'v1/Pod',
    labelsFrom: 'metadata.labels',
    pick: ['spec.node', 'spec.suspend', 'spec.template', 'metadata.creationTimestamp', 'metadata.finalizers'],
  },
} as const satisfies Record<keyof WatcherState, StateQuery>

/** Looks at much of others, and lets little through. */
export type WatcherPass = LevelPass<WatcherState, Cron>

export interface WatcherActions {
  count(pass: WatcherPass, picked: readonly Pod[], names: readonly Pod[], chosen: Pod | undefined): Promise<Outcome>
}

export function watcherSteps(actions: WatcherActions): Readonly<Record<keyof WatcherActions, Step<WatcherPass>>> {
  return {
    count: action('count', (pass) => actions.count(pass, pass.state.picked, pass.state.names, pass.state.chosen)),
  }
}

export interface EmptyState {}

export const emptyQueries = {} as const satisfies Record<keyof EmptyState, StateQuery>

/** Says nothing yet. */
export type EmptyPass = LevelPass<EmptyState, Job>

export interface EmptyActions {}

export function emptySteps(_actions: EmptyActions): Readonly<Record<keyof EmptyActions, Step<EmptyPass>>> {
  return {}
}
