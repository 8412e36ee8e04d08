// Decides the node agent's next step for a pod, as a kubelet would: from the pod, the state of its process, and the
// time.
//
// D1. The agent starts at most one process for a pod, and none for a pod that is being deleted.
// D2. The agent signals a process once to terminate, and kills its process group after the grace period.
// D3. A pod ends only after its process has ended.
// D4. A pod that is being deleted is released after the agent has reported how it ended. Finalizers of other
//   controllers keep it longer.
// D5. If the pod is deleted, the agent ends its process and cleans up its changes.

import type { ChaosPod, EndReason, Exit, Run, InjectorMessage } from './chaos-pod.ts'

/** The status to report. Timestamps are milliseconds since the epoch. */
export type Report =
  | {
      readonly phase: 'Running'
      readonly acceptedMs: number
      readonly startedMs: number
      readonly isReady: boolean
      readonly injectorMessage?: InjectorMessage
    }
  | {
      readonly phase: 'Succeeded' | 'Failed'
      readonly acceptedMs: number
      readonly startedMs: number | undefined
      readonly finishedMs: number
      readonly injectorMessage?: InjectorMessage
      /** The reason of the pod; absent: the container's reason suffices. */
      readonly reason?: string
      readonly message?: string
      readonly container: { readonly exitCode: number; readonly reason: string; readonly message?: string }
    }

export type Action =
  | { readonly do: 'start' }
  | { readonly do: 'terminate'; readonly why: EndReason; readonly graceMs: number }
  | { readonly do: 'kill' }
  /** Undo the remaining changes of the process and delete its record. */
  | { readonly do: 'sweep' }

export interface Decision {
  /** Undefined: no action. */
  readonly act: Action | undefined
  /** Undefined: nothing to report. */
  readonly report: Report | undefined
  /** Whether to delete the pod for good; never before its end was reported. */
  readonly release: boolean
  /** When time alone changes the decision; undefined: never. */
  readonly againMs: number | undefined
}

const NO_ACTION: Decision = { act: undefined, report: undefined, release: false, againMs: undefined }

/** @param pod undefined if it is deleted. */
export function decide(pod: ChaosPod | undefined, run: Run, nowMs: number): Decision {
  if (pod === undefined) return forDeletedPod(run, nowMs)
  switch (run.state) {
    case 'absent':
      return forNewPod(pod, nowMs)
    case 'starting':
      return NO_ACTION
    case 'running':
      return forRunningPod(pod, run, nowMs)
    case 'ended':
      return hasEnded(pod) ? { ...NO_ACTION, release: mayRelease(pod) } : { ...NO_ACTION, report: endReport(run) }
  }
}

function forNewPod(pod: ChaosPod, nowMs: number): Decision {
  // No process runs for this pod, so D4 applies without a report.
  if (hasEnded(pod) || (pod.deletion !== undefined && pod.phase === 'Pending'))
    return { ...NO_ACTION, release: mayRelease(pod) }
  const ended = { acceptedMs: nowMs, startedMs: undefined, finishedMs: nowMs }
  if (pod.phase !== 'Pending') return { ...NO_ACTION, report: reportOf({ ...ended, exit: { how: 'lost' } }) }
  if (pod.problem === undefined) return { ...NO_ACTION, act: { do: 'start' } }
  return { ...NO_ACTION, report: reportOf({ ...ended, exit: { how: 'unstarted', message: pod.problem } }) }
}

function forRunningPod(pod: ChaosPod, run: Extract<Run, { state: 'running' }>, nowMs: number): Decision {
  const { acceptedMs, startedMs, isReady, injectorMessage, ending } = run
  const running = {
    phase: 'Running' as const,
    acceptedMs,
    startedMs,
    isReady,
    ...(injectorMessage && { injectorMessage }),
  }
  const report: Report | undefined = hasEnded(pod) ? undefined : running
  if (ending !== undefined) return { ...NO_ACTION, report, ...whileEnding(ending, nowMs) }
  const deadlineMs = pod.activeDeadlineMs === undefined ? undefined : acceptedMs + pod.activeDeadlineMs
  if (deadlineMs !== undefined && deadlineMs <= nowMs)
    return { ...NO_ACTION, report, act: { do: 'terminate', why: 'deadline', graceMs: pod.graceMs } }
  // A pod that another client has marked as ended is treated as deleted.
  if (pod.deletion !== undefined || hasEnded(pod))
    return { ...NO_ACTION, report, act: { do: 'terminate', why: 'deleted', graceMs: (pod.deletion ?? pod).graceMs } }
  return { ...NO_ACTION, report, againMs: deadlineMs === undefined ? undefined : deadlineMs - nowMs }
}

/** D5 */
function forDeletedPod(run: Run, nowMs: number): Decision {
  switch (run.state) {
    case 'absent':
    case 'ended':
      return { ...NO_ACTION, act: { do: 'sweep' } }
    case 'starting':
      return NO_ACTION
    case 'running':
      return run.ending === undefined
        ? { ...NO_ACTION, act: { do: 'terminate', why: 'gone', graceMs: DELETED_GRACE_MS } }
        : { ...NO_ACTION, ...whileEnding(run.ending, nowMs) }
  }
}

// The grace period of chaos pods. Source: spec/chaos.md 2.5.
const DELETED_GRACE_MS = 60_000

/** D2 */
function whileEnding(
  { sinceMs, graceMs, isKilled }: { readonly sinceMs: number; readonly graceMs: number; readonly isKilled: boolean },
  nowMs: number,
): Pick<Decision, 'act' | 'againMs'> {
  const leftMs = sinceMs + graceMs - nowMs
  if (isKilled || leftMs > 0) return { act: undefined, againMs: isKilled ? undefined : leftMs }
  return { act: { do: 'kill' }, againMs: undefined }
}

export function hasEnded({ phase }: Pick<ChaosPod, 'phase'>): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}

// With a grace period of 0 the API server deletes the pod by itself.
function mayRelease({ deletion }: ChaosPod): boolean {
  return deletion !== undefined && deletion.graceMs > 0
}

type Ended = Extract<Run, { state: 'ended' }>

function endReport(run: Ended): Report {
  const report = reportOf(run)
  // D3, even after a successful clean-up: clients that wait for the pod see why it ended. Source: Kubernetes, Job and
  // Pod API.
  if (run.ending?.why !== 'deadline') return report
  return {
    ...report,
    phase: 'Failed',
    reason: 'DeadlineExceeded',
    message: 'Pod was active on the node longer than the specified deadline',
  }
}

function reportOf({
  acceptedMs,
  startedMs,
  finishedMs,
  exit,
  injectorMessage,
}: Pick<Ended, 'acceptedMs' | 'startedMs' | 'finishedMs' | 'exit' | 'injectorMessage'>) {
  const { isWell, ...end } = containerEnd(exit)
  // As in the kubelet, the termination message of the process becomes the message of the container.
  const container =
    injectorMessage === undefined || injectorMessage.message === '' ? end : { ...end, message: injectorMessage.message }
  const phase = isWell ? ('Succeeded' as const) : ('Failed' as const)
  return {
    phase,
    acceptedMs,
    startedMs,
    finishedMs,
    container,
    ...(injectorMessage && { injectorMessage }),
  } satisfies Report
}

/** With the kubelet's reasons and exit codes. */
function containerEnd(exit: Exit) {
  switch (exit.how) {
    case 'exited':
      return { isWell: exit.code === 0, exitCode: exit.code, reason: exit.code === 0 ? 'Completed' : 'Error' }
    case 'unstarted':
      return { isWell: false, exitCode: 128, reason: 'StartError', message: exit.message }
    case 'lost':
      return {
        isWell: false,
        exitCode: 137,
        reason: 'ContainerStatusUnknown',
        message: 'the injector process ended, and its exit code is unknown',
      }
  }
}
