// Assembles an injector from its settings: finds the target, creates the injections, and runs their life cycle.

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
import type { PreRun } from './pre-run.ts'
import { type LifecycleActions, releasePod, runLifecycle } from './lifecycle.ts'
import { type Log, textOf } from './log.ts'
import { openSink } from './metrics-sink.ts'
import { createInjection, type Injection, type Prepared } from './injection.ts'
import { type Containers, isOncePerTarget, prepare } from './prepare.ts'
import { releaseHandler } from './handler.ts'
import { lookupName } from './resolve-hosts.ts'
import { processRef } from './processes.ts'
import type { Settings } from './settings.ts'
import { createSimulation, type Simulation } from './simulation.ts'
import { runProgram } from './shell.ts'
import { sweepNotes } from './sweep.ts'
import { type UndoEntry, UndoLog } from './undo-log.ts'

export interface InjectorStart {
  readonly start: ProgramStart
  readonly settings: Settings
  readonly invocation: Invocation
  readonly log: Log
  readonly becomeReady: () => Promise<void>
  /** Adds a line to the termination message. */
  readonly report: (line: string) => void
}

/** Kinds that are injected into a target only once. Source: spec/chaos.md 3.4 (6). */
const ONCE_PER_TARGET: ReadonlySet<string> = new Set(['grpc-disruption', 'node-failure', 'pod-replacement'])

/** The present target: a restart replaces its containers. */
interface Target {
  requested: readonly TargetContainer[]
  containers: readonly FoundContainer[]
}

export async function begin(injectorStart: InjectorStart): Promise<number> {
  const { start, settings, invocation, log } = injectorStart
  const { common, spec } = invocation
  const { proc } = settings
  const children = new Children({ proc, env: start.env, self: start.self })
  const cluster = openCluster(settings)
  const machine: Machine = { proc, run: runProgram, clock: systemClock, children, cluster }
  const undoLog = new UndoLog(settings.stateFolder)
  await rm(settings.readinessFile, { force: true })
  /** Returns whether no change of an earlier injector remains. */
  const sweepOwn = async (keys: readonly string[]) => {
    if (isDry(injectorStart)) return true
    const isOwn = ({ owner, key }: UndoEntry) =>
      (settings.pod !== '' && owner.pod === settings.pod) || keys.includes(key)
    const { remaining } = await sweepNotes({ machine, undoLog, log }, isOwn)
    if (remaining.length > 0) log.error('changes of an earlier injector could not be undone', { left: remaining })
    return remaining.length === 0
  }
  // Undoes the injections of an earlier injector of this pod, even if the target does not exist any more.
  const isClean = await sweepOwn([])
  const target: Target = { requested: common.targetContainers, containers: [] }
  const simulation = settings.isSimulated ? createSimulation(log) : undefined
  const actions = actionsOf(injectorStart, { target, cluster, simulation })
  try {
    await findTarget(injectorStart, target)
  } catch (error) {
    log.error('the target does not exist', { error: textOf(error) })
    // Nothing was injected. Without its finalizer the failed pod does not block the end of the Disruption.
    if (isClean) await releasePod(actions, log)
    await cluster?.close()
    return 1
  }
  const executor = simulation?.executor ?? (common.dryRun ? dryExecutor(log) : realExecutor(machine))
  const preRun = preRunOf(injectorStart, cluster)
  const injections = injectionsOf(injectorStart, { target, executor, preRun, undoLog, simulation })
  await sweepOwn(injections.map(({ key }) => key))
  const sink = await openSink({ sink: common.metricsSink, kind: spec.kind, statsd: settings.statsd, log })
  try {
    return await runLifecycle({
      injections,
      count: sink.count,
      clock: systemClock,
      log,
      end: start.end,
      pulse: common.pulse,
      actions,
      initialDelayMs: common.pulseInitialDelayMs,
      isRepeatable: !ONCE_PER_TARGET.has(spec.kind),
      deadline: momentOf(common.deadline),
      notBefore: momentOf(common.notInjectedBefore),
    })
  } finally {
    await Promise.all([sink.close(), cluster?.close()])
  }
}

/** Nothing is changed, so nothing has to be undone. */
function isDry({ settings, invocation }: InjectorStart): boolean {
  return settings.isSimulated || invocation.common.dryRun
}

function momentOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text)
}

/** The target of level node is the first process. @throws if a container does not exist; the error names it. */
async function findTarget({ settings, invocation, log }: InjectorStart, target: Target): Promise<void> {
  const { common, spec } = invocation
  const isOfNode = common.level === 'node' || spec.kind === 'pod-replacement'
  const requested = isOfNode ? [{ name: 'node', id: 'process://1' }] : target.requested
  if (settings.isSimulated) {
    const main = await processRef(settings.proc, process.pid)
    target.containers = main === undefined ? [] : requested.map(({ name }) => ({ name, main }))
    return
  }
  try {
    const standIns = isOfNode ? {} : await readStandIns(settings.containersFile)
    target.containers = await Promise.all(requested.map((one) => findContainer(settings.proc, one, standIns)))
  } catch (error) {
    if (!common.dryRun) throw error
    log.warn('dry run: continuing without a target', { error: textOf(error) })
    target.containers = []
  }
}

interface InjectionContext {
  readonly target: Target
  readonly executor: Executor
  readonly preRun: PreRun
  readonly undoLog: UndoLog
  readonly simulation: Simulation | undefined
}

/** One injection for each container, or one for all if the disrupted resource is shared. */
function injectionsOf(injectorStart: InjectorStart, context: InjectionContext): readonly Injection[] {
  const { target, executor, undoLog } = context
  const { settings, invocation, log } = injectorStart
  const { common, spec } = invocation
  const names = target.containers.map(({ name }) => name)
  const idOf = (name: string) => target.requested.find((one) => one.name === name)?.id ?? name
  const groups = isOncePerTarget(spec) ? [names] : names.map((name) => [name])
  return groups
    .filter((group) => group.length > 0)
    .map((group) =>
      createInjection({
        what: `${spec.kind} of ${group.join(', ')}`,
        prepare: async () => {
          // A restart may have replaced the processes. If one is not there yet, the life cycle retries.
          await findTarget(injectorStart, target)
          const [first, ...rest] = target.containers.filter(({ name }) => group.includes(name))
          if (first === undefined) throw new Error(`container ${group.join(', ')} does not exist any more`)
          return await prepareOrDryRun(injectorStart, context, [first, ...rest])
        },
        executor,
        log,
        proc: settings.proc,
        pod: settings.pod,
        undoLog: isDry(injectorStart) ? undefined : undoLog,
        keyParts: [common.log.disruptionUid, common.log.targetName, spec.kind, ...group.map(idOf)],
      }),
    )
}

/**
 * A dry run succeeds even if facts are unknown or an injection is impossible. Source: spec/chaos.md 3.8, "readiness
 * still written".
 */
async function prepareOrDryRun(
  { invocation, log }: InjectorStart,
  { preRun, simulation }: InjectionContext,
  containers: Containers,
): Promise<Prepared> {
  try {
    const prepared = await prepare(preRun, invocation, containers)
    // A simulation has nothing to update.
    if (simulation !== undefined) return { plan: prepared.plan }
    if (!invocation.common.dryRun || !isUnsupported(prepared.plan)) return prepared
    log.warn('dry run: this machine cannot inject it', { why: prepared.plan.unsupported })
    return { plan: { apply: [], undo: [] } }
  } catch (error) {
    if (!invocation.common.dryRun && simulation === undefined) throw error
    log.warn('the target could not be read', { error: textOf(error) })
    simulation?.note(textOf(error))
    return { plan: { apply: [], undo: [] } }
  }
}

function preRunOf({ settings, log }: InjectorStart, cluster: Cluster | undefined): PreRun {
  return {
    settings,
    log,
    run: runProgram,
    clock: systemClock,
    lookup: lookupName,
    cluster,
    serviceAddresses: async (services) => {
      if (cluster === undefined) throw new Error('services need a cluster, and the injector has no connection to one')
      const { serviceAddresses } = await import('./cluster.ts')
      return await serviceAddresses(await cluster.client(), services)
    },
  }
}

interface ActionContext {
  readonly target: Target
  readonly cluster: Cluster | undefined
  readonly simulation: Simulation | undefined
}

function actionsOf(injectorStart: InjectorStart, { target, cluster, simulation }: ActionContext): LifecycleActions {
  const { settings, invocation, log, becomeReady } = injectorStart
  const { common } = invocation
  return {
    becomeReady: async () => {
      // The readiness of a simulated injection must come with its simulation report.
      if (simulation !== undefined) injectorStart.report(simulation.report())
      await becomeReady()
    },
    becomeUnready: async () => await rm(settings.readinessFile, { force: true }),
    releaseTarget: async (until) => {
      const handler =
        common.onInit && !settings.isSimulated
          ? target.containers.find(({ name }) => name === HANDLER_CONTAINER)
          : undefined
      if (handler === undefined) return
      const signal = (pid: number) => void kill(pid, 'SIGUSR1')
      await releaseHandler({ proc: settings.proc, handler: handler.main, clock: systemClock, log, until, signal })
    },
    targetRestart: async (until) => {
      if (cluster !== undefined && common.level === 'pod' && target.requested.length > 0) {
        const { watchRestart } = await import('./cluster.ts')
        const pod = { namespace: common.log.disruptionNamespace, name: common.log.targetName }
        const restarted = await watchRestart(await cluster.client(), pod, target.requested, {
          clock: systemClock,
          log,
          until,
        })
        if (restarted !== undefined) {
          target.requested = restarted
          return
        }
      }
      await aborted(until)
    },
    removeFinalizer: async () => {
      if (cluster === undefined || settings.pod === '') return
      const { removeFinalizer } = await import('./cluster.ts')
      const pod = { namespace: common.chaosNamespace, name: settings.pod }
      await removeFinalizer(await cluster.client(), pod, systemClock)
    },
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
