// Generated from modes.cm. Do not edit; run `npx pawl gen`.

import { action, type LevelPass, type Outcome, type StateQuery, type Step } from '../../../../../workflows/kit/index.ts'
import type { Node, Pod } from './core.ts'
import type { CronJob as Cron } from './cron-job.ts'

export interface BackupObservation {
  readonly target: Cron
  /** Those that are at it. */
  readonly pods: readonly Pod[]
  readonly leader: Pod | undefined
}

export const backupQueries = {
  pods: { kind: 'v1/Pod', many: true, labels: { backup: '${target.metadata.name}' }, owned: true },
  leader: { kind: 'v1/Pod', name: '${target.metadata.name}', owned: true },
} as const satisfies Record<string, StateQuery>

/** Runs one job. */
export interface BackupActions<Pass> {
  /** Begins. */
  startPods(pass: Pass, pods: readonly Pod[], leader: Pod | undefined): Outcome | Promise<Outcome>
  /** Needs nothing. */
  wait(pass: Pass): Outcome | Promise<Outcome>
}

export function backupSteps<Pass extends { readonly state: BackupObservation }>(
  actions: BackupActions<Pass>,
): Readonly<Record<keyof BackupActions<Pass>, Step<Pass>>> {
  return {
    startPods: action('startPods', (pass) => actions.startPods(pass, pass.state.pods, pass.state.leader)),
    wait: action('wait', (pass) => actions.wait(pass)),
  }
}

export interface IdleObservation {
  readonly target: Cron
}

export const idleQueries = {} as const satisfies Record<string, StateQuery>

/** A job that only begins and ends. */
export interface IdleActions<_Pass> {}

export function idleSteps<Pass extends { readonly state: IdleObservation }>(
  _actions: IdleActions<Pass>,
): Readonly<Record<keyof IdleActions<Pass>, Step<Pass>>> {
  return {}
}

export interface CrewObservation {
  readonly target: Node
  readonly members: readonly Pod[]
}

export const crewQueries = {
  members: { kind: 'v1/Pod', many: true, labels: { crew: '${target.metadata.name}' }, owned: true },
} as const satisfies Record<string, StateQuery>

/** Does all pods of a node. */
export interface CrewActions<Pass> {
  call(pass: Pass, members: readonly Pod[]): Outcome | Promise<Outcome>
}

export function crewSteps<Pass extends { readonly state: CrewObservation }>(
  actions: CrewActions<Pass>,
): Readonly<Record<keyof CrewActions<Pass>, Step<Pass>>> {
  return {
    call: action('call', (pass) => actions.call(pass, pass.state.members)),
  }
}

export interface AloneObservation {
  readonly target: Node
}

export const aloneQueries = {} as const satisfies Record<string, StateQuery>

/** One that looks at nothing else. */
export interface AloneActions<Pass> {
  rest(pass: Pass): Outcome | Promise<Outcome>
}

export function aloneSteps<Pass extends { readonly state: AloneObservation }>(
  actions: AloneActions<Pass>,
): Readonly<Record<keyof AloneActions<Pass>, Step<Pass>>> {
  return {
    rest: action('rest', (pass) => actions.rest(pass)),
  }
}

export interface PlainState {}

export const plainQueries = {} as const satisfies Record<keyof PlainState, StateQuery>

export type PlainPass = LevelPass<PlainState, Cron>

export interface PlainActions {
  look(pass: PlainPass): Promise<Outcome>
}

export function plainSteps(actions: PlainActions): Readonly<Record<keyof PlainActions, Step<PlainPass>>> {
  return {
    look: action('look', (pass) => actions.look(pass)),
  }
}
