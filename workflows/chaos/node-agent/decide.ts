// What a node agent does next about one pod, as a kubelet would: from what the pod wants, what its process does, and the time.
//
//   D1. A process is started at most once for a pod, and never for one that is to go.
//   D2. A process that has to end is told so once; when its grace is over its group is killed.
//   D3. A pod ends when its process has ended, never before.
//   D4. A pod that is to go is let go after it has told how it ended. Finalizers of others hold it as long as they want.
//   D5. Where the pod is gone, its process is ended, and what it may have left is swept.

import type { ChaosPod, EndReason, Exit, Run, Said } from './chaos-pod.ts'

/** What the pod's status is to say. Times are milliseconds since 1970. */
export type Report =
  | {
      readonly phase: 'Running'
      readonly acceptedMs: number
      readonly startedMs: number
      readonly isReady: boolean
      readonly said?: Said
    }
  | {
      readonly phase: 'Succeeded' | 'Failed'
      readonly acceptedMs: number
      readonly startedMs: number | undefined
      readonly finishedMs: number
      readonly said?: Said
      /** Of the pod; absent: its container's says enough. */
      readonly reason?: string
      readonly message?: string
      readonly container: { readonly exitCode: number; readonly reason: string; readonly message?: string }
    }

export type Act =
  | { readonly do: 'start' }
  | { readonly do: 'terminate'; readonly why: EndReason; readonly graceMs: number }
  | { readonly do: 'kill' }
  /** Undo what the process may have left, and forget it. */
  | { readonly do: 'sweep' }

export interface Decision {
  /** Undefined: nothing. */
  readonly act: Act | undefined
  /** Undefined: nothing is to be said. */
  readonly report: Report | undefined
  /** Whether the pod is to be let go; never before it has told how it ended. */
  readonly release: boolean
  /** When time alone changes the decision; undefined: it does not. */
  readonly againMs: number | undefined
}

const NOTHING: Decision = { act: undefined, report: undefined, release: false, againMs: undefined }

/** @param pod undefined: it is gone. */
export function decide(pod: ChaosPod | undefined, run: Run, nowMs: number): Decision {
  if (pod === undefined) return forGonePod(run, nowMs)
  switch (run.state) {
    case 'absent':
      return forNewPod(pod, nowMs)
    case 'starting':
      return NOTHING
    case 'running':
      return forRunningPod(pod, run, nowMs)
    case 'ended':
      return isOver(pod) ? { ...NOTHING, release: mayGo(pod) } : { ...NOTHING, report: endReport(run) }
  }
}

function forNewPod(pod: ChaosPod, nowMs: number): Decision {
  // Whatever ran for it once runs no more: also D4, without a report of who never started.
  if (isOver(pod) || (pod.deletion !== undefined && pod.phase === 'Pending')) return { ...NOTHING, release: mayGo(pod) }
  const ended = { acceptedMs: nowMs, startedMs: undefined, finishedMs: nowMs }
  if (pod.phase !== 'Pending') return { ...NOTHING, report: reportOf({ ...ended, exit: { how: 'lost' } }) }
  if (pod.problem === undefined) return { ...NOTHING, act: { do: 'start' } }
  return { ...NOTHING, report: reportOf({ ...ended, exit: { how: 'unstarted', message: pod.problem } }) }
}

function forRunningPod(pod: ChaosPod, run: Extract<Run, { state: 'running' }>, nowMs: number): Decision {
  const { acceptedMs, startedMs, isReady, said, ending } = run
  const running = { phase: 'Running' as const, acceptedMs, startedMs, isReady, ...(said && { said }) }
  const report: Report | undefined = isOver(pod) ? undefined : running
  if (ending !== undefined) return { ...NOTHING, report, ...whileEnding(ending, nowMs) }
  const deadlineMs = pod.activeDeadlineMs === undefined ? undefined : acceptedMs + pod.activeDeadlineMs
  if (deadlineMs !== undefined && deadlineMs <= nowMs)
    return { ...NOTHING, report, act: { do: 'terminate', why: 'deadline', graceMs: pod.graceMs } }
  // One whose end somebody else has told is as good as deleted.
  if (pod.deletion !== undefined || isOver(pod))
    return { ...NOTHING, report, act: { do: 'terminate', why: 'deleted', graceMs: (pod.deletion ?? pod).graceMs } }
  return { ...NOTHING, report, againMs: deadlineMs === undefined ? undefined : deadlineMs - nowMs }
}

/** D5 */
function forGonePod(run: Run, nowMs: number): Decision {
  switch (run.state) {
    case 'absent':
    case 'ended':
      return { ...NOTHING, act: { do: 'sweep' } }
    case 'starting':
      return NOTHING
    case 'running':
      return run.ending === undefined
        ? { ...NOTHING, act: { do: 'terminate', why: 'gone', graceMs: GONE_GRACE_MS } }
        : { ...NOTHING, ...whileEnding(run.ending, nowMs) }
  }
}

// What chaos pods have. Source: spec/chaos.md 2.5.
const GONE_GRACE_MS = 60_000

/** D2 */
function whileEnding(
  { sinceMs, graceMs, isKilled }: { readonly sinceMs: number; readonly graceMs: number; readonly isKilled: boolean },
  nowMs: number,
): Pick<Decision, 'act' | 'againMs'> {
  const leftMs = sinceMs + graceMs - nowMs
  if (isKilled || leftMs > 0) return { act: undefined, againMs: isKilled ? undefined : leftMs }
  return { act: { do: 'kill' }, againMs: undefined }
}

export function isOver({ phase }: Pick<ChaosPod, 'phase'>): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}

// With a grace of 0 the server lets it go by itself.
function mayGo({ deletion }: ChaosPod): boolean {
  return deletion !== undefined && deletion.graceMs > 0
}

type Ended = Extract<Run, { state: 'ended' }>

function endReport(run: Ended): Report {
  const report = reportOf(run)
  // D3, also where it has cleaned up well: whoever waits for the pod is told why it is over. Source: Kubernetes, Job and Pod API.
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
  said,
}: Pick<Ended, 'acceptedMs' | 'startedMs' | 'finishedMs' | 'exit' | 'said'>) {
  const { isWell, ...end } = containerEnd(exit)
  // As in the kubelet, the termination message of the process becomes the message of the container.
  const container = said === undefined || said.message === '' ? end : { ...end, message: said.message }
  const phase = isWell ? ('Succeeded' as const) : ('Failed' as const)
  return { phase, acceptedMs, startedMs, finishedMs, container, ...(said && { said }) } satisfies Report
}

/** In the words, and with the numbers, of the kubelet. */
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
        message: 'the process of the injector is gone, and nobody saw how it ended',
      }
  }
}
