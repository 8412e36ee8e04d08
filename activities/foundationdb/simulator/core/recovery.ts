// Recoveries: how the transaction system starts again after a change or a loss. Source: fdb-recordings 06, 10, 11, 22, 32.

import { REDUNDANCY_MODES, count } from './configuration.ts'
import { nameOf } from './process.ts'
import type { ProcessClass, StatelessRole } from './process-class.ts'
import { isBetter, recruit, recruitStateless, type Recruitment } from './recruitment.ts'
import type { LogGeneration, State } from './state.ts'

/** Seconds without commits, by cause. Source: fdb-recordings SURPRISES 14 and 26. */
export const OUTAGE = { change: 0.2, log: 1, controller: 3.5 } as const
const ALL_LOGS_AFTER = 0.1
const DRAIN_SECONDS = 10
/** The first recovery has no old logs to drain. Source: fdb-recordings 03/036. */
const FIRST_DRAIN_SECONDS = 5
/** How long `data.state` is `initializing` after the data distributor started. Source: SURPRISES 18. */
export const INITIALIZING_SECONDS = 34.5

/** Stops the transaction system and starts it again after `seconds`, as soon as the processes suffice. */
export function recover(state: State, seconds: number): void {
  if (state.configuration === undefined) return
  state.phase = 'locking_coordinated_state'
  state.recoveryReady = false
  const generation = state.generation
  state.clock.after(seconds, () => {
    if (state.available || state.generation !== generation) return
    state.recoveryReady = true
    retryRecovery(state)
  })
  state.changed()
}

/** Completes a pending recovery if the coordinators, the old logs and the processes suffice. */
export function retryRecovery(state: State): void {
  if (state.configuration === undefined) assignController(state)
  else if (!state.available && state.recoveryReady) attempt(state)
  state.changed()
}

function attempt(state: State): void {
  const [current] = state.logs
  if (!state.hasQuorum() || (current !== undefined && !canReadLogs(state, current))) {
    state.phase = 'locking_coordinated_state'
    assignController(state)
    return
  }
  const plan = recruit(state.candidates(), state.configuration ?? new Map())
  if (plan === undefined) {
    state.phase = 'recruiting_transaction_servers'
    assignController(state)
    return
  }
  accept(state, plan)
}

/** Whether so many logs of the generation live that each commit is on at least one of them. */
function canReadLogs(state: State, { interfaces, replicas }: LogGeneration): boolean {
  const lost = interfaces.filter(({ process }) => !state.isAlive(process)).length
  return lost < Math.min(replicas, interfaces.length) || interfaces.length === 0
}

/** Without a configuration only these two roles exist; during an outage also those that need no recovery. */
function assignController(state: State): void {
  const candidates = state.candidates(true)
  const controller = recruitStateless(candidates, 'cluster_controller', 1, new Map())
  const master = recruitStateless(candidates, 'master', 1, new Map(controller.map((id) => [id, 0.5])))
  const distributors = [...state.roles].filter(
    ([role, ids]) => (role === 'data_distributor' || role === 'ratekeeper') && ids.every((id) => state.isAlive(id)),
  )
  state.roles = new Map<StatelessRole, readonly string[]>([
    ['cluster_controller', controller],
    ['master', master],
    ...distributors,
  ])
}

function accept(state: State, plan: Recruitment): void {
  const version = state.nextVersion()
  const keepsDistributor = sameProcess(state, plan, 'data_distributor')
  for (const old of state.logs) old.end ??= version
  state.generation = state.generation === 1 ? 2 : state.generation + 2
  const replicas = REDUNDANCY_MODES[state.mode()].logs
  state.logs.unshift({
    epoch: state.generation,
    interfaces: plan.logs.map((process) => ({
      process,
      id: state.randomText(16),
      address: state.processes.get(process)?.description.addresses[0] ?? '',
    })),
    replicas,
    begin: state.logs.length === 0 ? 0 : version,
    end: undefined,
  })
  state.roles = new Map(plan.roles)
  state.acceptedAt = state.now()
  state.phase = 'accepting_commits'
  if (!keepsDistributor) restartDistributor(state)
  const { generation } = state
  state.clock.after(ALL_LOGS_AFTER, () => {
    advance(state, generation, 'all_logs_recruited')
  })
  state.clock.after(state.logs.length === 1 ? FIRST_DRAIN_SECONDS : DRAIN_SECONDS, () => {
    advance(state, generation, 'fully_recovered')
  })
}

function sameProcess(state: State, plan: Recruitment, role: StatelessRole): boolean {
  const [before] = state.roles.get(role) ?? []
  return before !== undefined && before === plan.roles.get(role)?.[0]
}

function advance(state: State, generation: number, phase: 'all_logs_recruited' | 'fully_recovered'): void {
  if (!state.available || state.generation !== generation) return
  state.phase = phase
  if (phase === 'fully_recovered') state.logs = state.logs.slice(0, 1)
  state.changed()
}

export function restartDistributor(state: State): void {
  state.initializingUntil = state.now() + INITIALIZING_SECONDS
}

/** Starts a recovery if the lost process had a role of the transaction system. */
export function recoverFromLoss(state: State, id: string): void {
  if (!state.available) {
    retryRecovery(state)
    return
  }
  const roles = [...state.roles].filter(([, ids]) => ids.includes(id)).map(([role]) => role)
  if (roles.length === 1 && (roles[0] === 'data_distributor' || roles[0] === 'ratekeeper')) {
    moveDistributor(state, id)
  } else if (roles.length > 0) {
    state.roles.delete('data_distributor')
    recover(state, roles.includes('cluster_controller') || roles.includes('master') ? OUTAGE.controller : OUTAGE.log)
  } else if (state.logs[0]?.interfaces.some(({ process }) => process === id) === true) {
    recover(state, OUTAGE.log)
  }
  state.changed()
}

/** Moves the data distributor and the ratekeeper to another process without a recovery. */
export function moveDistributor(state: State, from: string): void {
  for (const role of ['data_distributor', 'ratekeeper'] as const) {
    if (state.roles.get(role)?.includes(from) !== true) continue
    const [next] = recruitStateless(state.candidates(), role, 1, new Map())
    if (next === undefined) continue
    state.roles.set(role, [next])
    if (role === 'data_distributor') restartDistributor(state)
  }
  state.changed()
}

/** A recovery moves roles to processes that fit strictly better, such as a new process of a special class. */
export function recoverIfBetter(state: State): void {
  if (!state.available || state.configuration === undefined) return
  const plan = recruit(state.candidates(), state.configuration)
  if (plan === undefined) return
  const better = isBetter(state.candidates(true), state.roles, plan.roles) || hasBetterLogs(state, plan)
  if (better) recover(state, OUTAGE.change)
}

function hasBetterLogs(state: State, plan: Recruitment): boolean {
  const current = state.logs[0]?.interfaces ?? []
  const wanted = count(state.configuration ?? new Map(), 'logs', 3)
  if (current.length < plan.logs.length && current.length < wanted) return true
  const isLog = (name: ProcessClass | undefined) => name === 'log' || name === 'transaction'
  const rank = (ids: readonly string[]) =>
    ids.filter((id) => {
      const process = state.processes.get(id)
      return process !== undefined && isLog(state.classOf(process))
    }).length
  return rank(plan.logs) > rank(current.map(({ process }) => process))
}

/** Moves roles and logs away from excluded processes. Source: fdb-recordings 08/071..086, 26/003..007. */
export function recoverFromExclusion(state: State): void {
  if (!state.available || state.configuration === undefined) return
  const excluded = state.aliveProcesses().filter((process) => state.isExcluded(process))
  const ids = excluded.map(({ description }) => description.id)
  const logsExcluded = state.logs[0]?.interfaces.some(({ process }) => ids.includes(process)) === true
  const plan = recruit(state.candidates(), state.configuration)
  const placed = [...state.roles].filter(([, holders]) => holders.some((id) => ids.includes(id))).map(([role]) => role)
  if (plan !== undefined && (logsExcluded || hasSpare(state, placed, plan))) {
    recover(state, OUTAGE.change)
    return
  }
  state.clock.after(1, () => {
    for (const id of ids) moveDistributor(state, id)
  })
}

/** Whether other processes of the same class can take the roles. */
function hasSpare(state: State, roles: readonly StatelessRole[], plan: Recruitment): boolean {
  const classOf = (id: string | undefined) => {
    const process = id === undefined ? undefined : state.processes.get(id)
    return process && state.classOf(process)
  }
  return (
    roles.length > 0 &&
    roles.every(
      (role) =>
        classOf(plan.roles.get(role)?.[0]) === classOf(state.roles.get(role)?.find((id) => state.processes.has(id))),
    )
  )
}

/** The address of the process with the role, without `:tls`. */
export function addressOfRole(state: State, role: StatelessRole): string | undefined {
  const process = state.processes.get(state.roles.get(role)?.[0] ?? '')
  return process && nameOf(process)
}
