// Puts an injector together: finds its target, makes its injections, and lets it live.

import { rm } from 'node:fs/promises'
import { kill } from 'node:process'

import { HANDLER_CONTAINER } from '../../../workflows/chaos/contract.ts'
import { isUnsupported } from '../../../workflows/chaos/injector/command.ts'
import type { Invocation, TargetContainer } from '../../../workflows/chaos/injector/invocation.ts'
import type { ProgramStart } from '../../program.ts'
import { Children } from './children.ts'
import { systemClock } from './clock.ts'
import { type Cluster, openCluster } from './cluster-client.ts'
import { findContainer, type FoundContainer, readStandIns } from './containers.ts'
import { dryExecutor, type Executor, type Machine, realExecutor } from './executor.ts'
import type { Finding } from './finding.ts'
import { type LifeActions, live } from './lifecycle.ts'
import { type Log, textOf } from './log.ts'
import { openSink } from './metrics-sink.ts'
import { createInjection, type Injection, type Prepared } from './one-injection.ts'
import { type Containers, isOncePerTarget, prepare } from './prepare.ts'
import { releaseHandler } from './release-handler.ts'
import { lookupName } from './resolve-hosts.ts'
import { processRef } from './processes.ts'
import type { Settings } from './settings.ts'
import { createSimulation, type Simulation } from './simulation.ts'
import { runProgram } from './shell.ts'
import { sweepNotes } from './sweep.ts'
import { type UndoEntry, UndoLog } from './undo-log.ts'

export interface Beginning {
  readonly start: ProgramStart
  readonly settings: Settings
  readonly invocation: Invocation
  readonly log: Log
  readonly becomeReady: () => Promise<void>
  /** Adds a line to the termination message. */
  readonly report: (line: string) => void
}

/** Kinds that are not done again to a target. Source: spec/chaos.md 3.4 (6). */
const ONCE: ReadonlySet<string> = new Set(['grpc-disruption', 'node-failure', 'pod-replacement'])

/** The target, as it is now: its containers are replaced when they are started again. */
interface Target {
  told: readonly TargetContainer[]
  found: readonly FoundContainer[]
}

export async function begin(beginning: Beginning): Promise<number> {
  const { start, settings, invocation, log } = beginning
  const { common, spec } = invocation
  const { proc } = settings
  const children = new Children({ proc, env: start.env, self: start.self })
  const cluster = openCluster(settings)
  const machine: Machine = { proc, run: runProgram, clock: systemClock, children, cluster }
  const undoLog = new UndoLog(settings.stateFolder)
  await rm(settings.readinessFile, { force: true })
  const sweepOwn = async (keys: readonly string[]) => {
    if (isDry(beginning)) return
    const isOwn = ({ owner, key }: UndoEntry) =>
      (settings.pod !== '' && owner.pod === settings.pod) || keys.includes(key)
    const { left } = await sweepNotes({ machine, undoLog, log }, isOwn)
    if (left.length > 0) log.error('what an earlier injector has left here cannot be undone', { left })
  }
  // Also when its target is not there any more.
  await sweepOwn([])
  const target: Target = { told: common.targetContainers, found: [] }
  try {
    await findTarget(beginning, target)
  } catch (error) {
    log.error('the target was not found', { error: textOf(error) })
    return 1
  }
  const simulation = settings.isSimulated ? createSimulation(log) : undefined
  const executor = simulation?.executor ?? (common.dryRun ? dryExecutor(log) : realExecutor(machine))
  const finding = findingOf(beginning, cluster)
  const actions = actionsOf(beginning, { target, cluster, simulation })
  const injections = injectionsOf(beginning, { target, executor, finding, undoLog, simulation })
  await sweepOwn(injections.map(({ key }) => key))
  const sink = await openSink({ sink: common.metricsSink, kind: spec.kind, statsd: settings.statsd, log })
  try {
    return await live({
      injections,
      count: sink.count,
      clock: systemClock,
      log,
      end: start.end,
      pulse: common.pulse,
      actions,
      initialDelayMs: common.pulseInitialDelayMs,
      isRepeatable: !ONCE.has(spec.kind),
      deadline: momentOf(common.deadline),
      notBefore: momentOf(common.notInjectedBefore),
    })
  } finally {
    await Promise.all([sink.close(), cluster?.close()])
  }
}

/** Nothing is changed, and nothing has to be undone. */
function isDry({ settings, invocation }: Beginning): boolean {
  return settings.isSimulated || invocation.common.dryRun
}

function momentOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text)
}

/** Of a node, its first process stands for all. @throws with the container that is not there. */
async function findTarget({ settings, invocation, log }: Beginning, target: Target): Promise<void> {
  const { common, spec } = invocation
  const isOfNode = common.level === 'node' || spec.kind === 'pod-replacement'
  const told = isOfNode ? [{ name: 'node', id: 'process://1' }] : target.told
  if (settings.isSimulated) {
    const main = await processRef(settings.proc, process.pid)
    target.found = main === undefined ? [] : told.map(({ name }) => ({ name, main }))
    return
  }
  try {
    const standIns = isOfNode ? {} : await readStandIns(settings.containersFile)
    target.found = await Promise.all(told.map((one) => findContainer(settings.proc, one, standIns)))
  } catch (error) {
    if (!common.dryRun) throw error
    log.warn('dry run: goes on without a target', { error: textOf(error) })
    target.found = []
  }
}

interface Making {
  readonly target: Target
  readonly executor: Executor
  readonly finding: Finding
  readonly undoLog: UndoLog
  readonly simulation: Simulation | undefined
}

/** One for each container, or one for all where these share what is disturbed. */
function injectionsOf(beginning: Beginning, making: Making): readonly Injection[] {
  const { target, executor, undoLog } = making
  const { settings, invocation, log } = beginning
  const { common, spec } = invocation
  const names = target.found.map(({ name }) => name)
  const idOf = (name: string) => target.told.find((one) => one.name === name)?.id ?? name
  const groups = isOncePerTarget(spec) ? [names] : names.map((name) => [name])
  return groups
    .filter((group) => group.length > 0)
    .map((group) =>
      createInjection({
        what: `${spec.kind} of ${group.join(', ')}`,
        prepare: async () => {
          const [first, ...rest] = target.found.filter(({ name }) => group.includes(name))
          if (first === undefined) throw new Error(`container ${group.join(', ')} is not there any more`)
          return await preparedFor(beginning, making, [first, ...rest])
        },
        executor,
        log,
        proc: settings.proc,
        pod: settings.pod,
        undoLog: isDry(beginning) ? undefined : undoLog,
        keyParts: [common.log.disruptionUid, common.log.targetName, spec.kind, ...group.map(idOf)],
      }),
    )
}

/** A dry run also passes where nothing can be found out, or be done. Source: spec/chaos.md 3.8, "readiness still written". */
async function preparedFor(
  { invocation, log }: Beginning,
  { finding, simulation }: Making,
  containers: Containers,
): Promise<Prepared> {
  try {
    const prepared = await prepare(finding, invocation, containers)
    // Nothing is kept up to date that is not there.
    if (simulation !== undefined) return { plan: prepared.plan }
    if (!invocation.common.dryRun || !isUnsupported(prepared.plan)) return prepared
    log.warn('dry run: this would not be injected here', { why: prepared.plan.unsupported })
    return { plan: { apply: [], undo: [] } }
  } catch (error) {
    if (!invocation.common.dryRun && simulation === undefined) throw error
    log.warn('the target could not be looked at', { error: textOf(error) })
    simulation?.note(textOf(error))
    return { plan: { apply: [], undo: [] } }
  }
}

function findingOf({ settings, log }: Beginning, cluster: Cluster | undefined): Finding {
  return {
    settings,
    log,
    run: runProgram,
    clock: systemClock,
    lookup: lookupName,
    cluster,
    serviceAddresses: async (services) => {
      if (cluster === undefined) throw new Error('services are found in a cluster only, and there is none')
      const { serviceAddresses } = await import('./cluster.ts')
      return await serviceAddresses(await cluster.client(), services)
    },
  }
}

interface Acting {
  readonly target: Target
  readonly cluster: Cluster | undefined
  readonly simulation: Simulation | undefined
}

function actionsOf(beginning: Beginning, { target, cluster, simulation }: Acting): LifeActions {
  const { settings, invocation, log, becomeReady } = beginning
  const { common } = invocation
  return {
    becomeReady: async () => {
      // Who sees that it is ready sees that it is simulated.
      if (simulation !== undefined) beginning.report(simulation.report())
      await becomeReady()
    },
    becomeUnready: async () => await rm(settings.readinessFile, { force: true }),
    releaseTarget: async (until) => {
      const handler =
        common.onInit && !settings.isSimulated ? target.found.find(({ name }) => name === HANDLER_CONTAINER) : undefined
      if (handler === undefined) return
      const tell = (pid: number) => void kill(pid, 'SIGUSR1')
      await releaseHandler({ proc: settings.proc, handler: handler.main, clock: systemClock, log, until, tell })
    },
    targetRestart: async (until) => {
      if (cluster !== undefined && common.level === 'pod' && target.told.length > 0) {
        const { watchRestart } = await import('./cluster.ts')
        const pod = { namespace: common.log.disruptionNamespace, name: common.log.targetName }
        const news = await watchRestart(await cluster.client(), pod, target.told, { clock: systemClock, log, until })
        if (news !== undefined) {
          target.told = news
          await findTarget(beginning, target)
          return
        }
      }
      await aborted(until)
    },
    takeOffFinalizer: async () => {
      if (cluster === undefined || settings.pod === '') return
      const { takeOffFinalizer } = await import('./cluster.ts')
      const pod = { namespace: common.chaosNamespace, name: settings.pod }
      await takeOffFinalizer(await cluster.client(), pod, systemClock)
    },
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
