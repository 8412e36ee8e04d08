// Runs in Temporal: started, woken, looked up. Source: docs/architecture.md "Subjects and routes" (reuse policies), spec/engine.md 1.2.
//
//   U1. `start` has conflict policy FAIL, then comes a signal: USE_EXISTING would swallow the wake.
//   U2. A run that ended, however it did, is repeated only when its subject, read anew, still asks for it: a job that fails is a run that
//       Failed, and a run that was terminated is one whose job is left unfinished.

import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
} from '@temporalio/client'
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common'

import type { OpenWing } from '../../activities/index.ts'
import { queueOf, type Queues } from './task-queues.ts'
import { type JobInput, type Notification, NOTIFICATION_RUN } from '../../workflows/kit/index.ts'

export interface Run {
  readonly controller: string
  /** Of its subject. */
  readonly lane?: string | undefined
  readonly workflowID: string
  readonly input: JobInput
}

export interface RunOptions extends Queues {
  /** How long a workflow task may take before the server gives it to another worker. */
  readonly workflowTaskTimeoutMs: number
}

export type StartAnswer =
  { readonly answer: 'started'; readonly runID: string } | { readonly answer: 'running' } | { readonly answer: 'ended' }

const GROUP = defineSearchAttributeKey('PawlGroup', SearchAttributeType.KEYWORD)
const KIND = defineSearchAttributeKey('PawlKind', SearchAttributeType.KEYWORD)
const NAMESPACE = defineSearchAttributeKey('PawlNamespace', SearchAttributeType.KEYWORD)
const NAME = defineSearchAttributeKey('PawlName', SearchAttributeType.KEYWORD)
const UID = defineSearchAttributeKey('PawlUid', SearchAttributeType.KEYWORD)
const JOB_ID = defineSearchAttributeKey('PawlJobId', SearchAttributeType.KEYWORD)
// A job has one ID from the root down.
const ROOT_JOB_ID = defineSearchAttributeKey('PawlRootJobId', SearchAttributeType.KEYWORD)

/** Starts a run; `again`: also after one of the same ID that has ended (U2). Says so when one is running or has ended. */
export async function startRun(client: Client, run: Run, options: RunOptions, again: boolean): Promise<StartAnswer> {
  const { controller, workflowID, lane, input } = run
  const { subject, jobID } = input
  try {
    const handle = await client.workflow.start(controller, {
      workflowId: workflowID,
      taskQueue: queueOf(options, controller, lane),
      args: [input],
      requestEagerStart: true,
      workflowTaskTimeout: options.workflowTaskTimeoutMs,
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.FAIL,
      workflowIdReusePolicy: again ? WorkflowIdReusePolicy.ALLOW_DUPLICATE : WorkflowIdReusePolicy.REJECT_DUPLICATE,
      typedSearchAttributes: new TypedSearchAttributes([
        { key: GROUP, value: subject.group ?? '' },
        { key: KIND, value: subject.kind },
        { key: NAMESPACE, value: subject.namespace },
        { key: NAME, value: subject.name },
        { key: UID, value: subject.uid },
        // In level mode there is none.
        ...(jobID === '' ? [] : [JOB_ID, ROOT_JOB_ID].map((key) => ({ key, value: jobID }))),
      ]),
      staticSummary: runSummary(input),
      staticDetails: runDetails(input),
    })
    return { answer: 'started', runID: handle.firstExecutionRunId }
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
    return { answer: (await openRunOf(client, workflowID)) === undefined ? 'ended' : 'running' }
  }
}

/** Wakes a running run. Returns false when there is none. */
export async function signalRun(client: Client, workflowID: string, seq: number): Promise<boolean> {
  try {
    await client.workflow.getHandle(workflowID).signal('wake', { seq })
    return true
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false
    throw error
  }
}

export interface OpenRun {
  readonly runID: string
  readonly taskQueue: string
  /** How often its workflow task was tried that is pending; 0 when none is. */
  readonly tries: number
}

/** The open run of this ID; undefined when Temporal has none. */
export async function openRunOf(client: Client, workflowID: string): Promise<OpenRun | undefined> {
  try {
    const { runId: runID, status, taskQueue, raw } = await client.workflow.getHandle(workflowID).describe()
    return status.name === 'RUNNING' ? { runID, taskQueue, tries: raw.pendingWorkflowTask?.attempt ?? 0 } : undefined
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined
    throw error
  }
}

// A poll that brings nothing lasts a minute; Temporal forgets who polled after five.
const POLLED_WITHIN_MS = 120_000

/** Whether some worker has asked this queue for workflow tasks lately. */
export async function isServed(client: Client, taskQueue: string, now: Date): Promise<boolean> {
  return (await pollersOf(client, taskQueue, now)).length > 0
}

/** By which names workers have asked this queue for workflow tasks lately. */
export async function pollersOf(client: Client, taskQueue: string, now: Date): Promise<readonly string[]> {
  // Without a type, the server describes the queue of workflow tasks.
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: taskQueue },
  })
  const since = now.getTime() - POLLED_WITHIN_MS
  const late = pollers.filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000 >= since)
  return late.map(({ identity }) => identity ?? '')
}

/**
 * Ends a run that no worker of its queue can go on with, so that it can be started again where one does.
 *
 * @param runID default: of the newest run of the ID.
 */
export async function terminateStranded(
  client: Client,
  workflowID: string,
  why: string,
  runID?: string,
): Promise<void> {
  try {
    await client.workflow.getHandle(workflowID, runID).terminate(why)
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error
  }
}

// What Temporal's UI shows of a run from its start on, in Markdown. Pure. What it shows of its passes is said by the run: workflows/kit/run/loop/temporal.ts.

type Told = Pick<JobInput, 'subject' | 'jobID' | 'cause'>

/** Which object it is about. */
export function runSummary({ subject: { kind, namespace, name } }: Pick<Told, 'subject'>): string {
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`
}

/** Which job it is of, why it was started, and the command that replays it. */
export function runDetails({ subject, jobID, cause }: Told): string {
  return [...(jobID === '' ? [] : [`Job ${jobID}.`]), `Cause: ${cause}.`, `Replay: \`${replay(subject, jobID)}\``].join(
    ' ',
  )
}

/** In level mode there are no jobs: it is the newest run of the object then. */
function replay({ kind, namespace, name }: Told['subject'], jobID: string): string {
  const job = jobID === '' ? '' : ` ${jobID}`
  return `pawl replay ${kind.toLowerCase()}/${name}${job}${namespace === '' ? '' : ` -n ${namespace}`}`
}

// Starts the runs that bring notices (workflows/kit/run/notice.ts): on the queue of the controller whose Events they tell, whose workers have its notifiers.

type Notifiers = NonNullable<OpenWing['notifiers']>

/** @param of the notifiers of the wing that a controller is of. */
export function createNotices(client: Client, queues: Queues, of: (controller: string) => Notifiers | undefined) {
  return {
    of,
    known: new Set<string>(),
    async start(notice: Notification): Promise<void> {
      const { id, controller, notifier, reason, subject } = notice
      try {
        await client.workflow.start(NOTIFICATION_RUN, {
          workflowId: id,
          taskQueue: queueOf(queues, controller),
          args: [notice],
          // What was told, or given up, is not told again.
          workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
          staticSummary: `${notifier}: ${reason} of ${subject.kind} ${subject.name}`,
        })
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
      }
    },
  }
}
