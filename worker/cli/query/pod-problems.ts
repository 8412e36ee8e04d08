// Explains why pods are not ready, from their status: not scheduled, image not pulled, container crashed, or not ready.
// Pods with the same reason share a line. Pure. Source: Kubernetes, "Pod Lifecycle".

import { singleLine } from './format.ts'

/** The fields of a pod that explain its state. */
export interface PodObject {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly deletionTimestamp?: string }
  readonly spec?: { readonly nodeSelector?: Readonly<Record<string, string>> }
  readonly status?: PodStatus
}

interface PodStatus {
  readonly phase?: string
  readonly reason?: string
  readonly message?: string
  readonly conditions?: readonly {
    readonly type: string
    readonly status: string
    readonly reason?: string
    readonly message?: string
  }[]
  readonly initContainerStatuses?: readonly ContainerStatus[]
  readonly containerStatuses?: readonly ContainerStatus[]
}

interface ContainerStatus {
  readonly name: string
  readonly ready?: boolean
  readonly restartCount?: number
  readonly state?: ContainerState
  readonly lastState?: ContainerState
}

interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string }
  readonly running?: object
  readonly terminated?: Terminated
}

interface Terminated {
  readonly exitCode?: number
  readonly reason?: string
  readonly message?: string
}

export interface PodProblem {
  /** One clause, such as `2 pods: no node matches disk=ssd`. */
  readonly text: string
  /** The first of the pods. */
  readonly pod: { readonly namespace: string; readonly name: string }
  /** True if a container has crashed, so that its log may have the reason. */
  readonly hasCrashed: boolean
}

/** The reasons of pods that are not ready, the most frequent first. */
export function podProblems(pods: readonly PodObject[]): readonly PodProblem[] {
  const groups = new Map<string, { readonly reason: PodReason; readonly pods: PodObject[] }>()
  for (const pod of pods) {
    const reason = reasonOf(pod)
    if (reason === undefined) continue
    const group = groups.get(reason.text) ?? { reason, pods: [] }
    group.pods.push(pod)
    groups.set(reason.text, group)
  }
  return [...groups.values()]
    .toSorted((left, right) => right.pods.length - left.pods.length)
    .flatMap(({ reason: { text, hasCrashed }, pods: [first, ...others] }) => {
      if (first === undefined) return []
      const { name, namespace = '' } = first.metadata
      const subject = others.length === 0 ? `pod ${name}` : `${others.length + 1} pods`
      return [{ text: `${subject}: ${text}`, pod: { namespace, name }, hasCrashed }]
    })
}

interface PodReason {
  readonly text: string
  readonly hasCrashed: boolean
}

function reasonOf(pod: PodObject): PodReason | undefined {
  const { metadata, status = {} } = pod
  const condition = (type: string) => status.conditions?.find((one) => one.type === type)
  if (metadata.deletionTimestamp !== undefined || status.phase === 'Succeeded') return undefined
  if (condition('Ready')?.status === 'True') return undefined
  const scheduled = condition('PodScheduled')
  if (scheduled?.status === 'False') return { text: schedulingText(pod, scheduled), hasCrashed: false }
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
  return containers.map(containerReason).find((reason) => reason !== undefined) ?? podReason(status)
}

function podReason({ phase = 'Pending', message, reason }: PodStatus): PodReason {
  const why = message ?? reason
  return { text: why === undefined ? `not ready, in phase ${phase}` : `${phase}: ${line(why)}`, hasCrashed: false }
}

const MISMATCH = /^0\/(\d+) nodes are available: (\d+) node\(s\) didn't match Pod's node affinity\/selector/

function schedulingText(
  { spec }: PodObject,
  condition: { readonly reason?: string; readonly message?: string },
): string {
  const { reason = 'Unschedulable', message = '' } = condition
  const selector = Object.entries(spec?.nodeSelector ?? {}).map(([key, value]) => `${key}=${value}`)
  const [, nodes, mismatches] = MISMATCH.exec(message) ?? []
  if (selector.length > 0 && nodes !== undefined && nodes === mismatches)
    return `no node matches ${line(selector.join(','))}`
  // The second sentence is about preemption.
  return `not scheduled: ${line(message.split(/\. (?:no new claims|preemption)/)[0] ?? '') || reason}`
}

function containerReason(container: ContainerStatus): PodReason | undefined {
  const { name, ready, state, lastState } = container
  const crash = state?.terminated ?? lastState?.terminated
  const hasFailed = crash !== undefined && (crash.exitCode ?? 0) !== 0
  if (state?.running !== undefined)
    return ready === true
      ? undefined
      : { text: `container ${name} runs and is not ready (see its readiness probe)`, hasCrashed: hasFailed }
  if (hasFailed) return { text: crashText(container, crash), hasCrashed: true }
  const text = waitingText(state?.waiting)
  return text === undefined ? undefined : { text: `container ${name}: ${text}`, hasCrashed: false }
}

function crashText({ name, restartCount = 0 }: ContainerStatus, crash: Terminated): string {
  const { exitCode = 0, reason = 'Error', message } = crash
  const how = reason === 'Error' ? `exit code ${exitCode}` : reason
  const restarts = restartCount === 0 ? '' : `, ${restartCount} ${restartCount === 1 ? 'restart' : 'restarts'}`
  const last = lastLine(message)
  return `container ${name} crashed (${how}${restarts})${last === '' ? '' : `: ${last}`}`
}

function waitingText({ reason, message = '' }: NonNullable<ContainerState['waiting']> = {}): string | undefined {
  if (reason === undefined || STARTING.has(reason)) return undefined
  return message === '' ? reason : `${reason}: ${line(message)}`
}

/** A container that waits with one of these reasons is starting. */
const STARTING: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing'])

/** The termination message may be the end of the container's log. */
function lastLine(message = ''): string {
  return line(message.trimEnd().split('\n').at(-1) ?? '')
}

const MAX_LENGTH = 300

function line(text: string): string {
  return singleLine(text, MAX_LENGTH)
}
