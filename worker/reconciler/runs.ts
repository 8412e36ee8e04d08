// Runs in Temporal: start, signal, describe, terminate. Source: docs/concepts/architecture.md "Subjects and routes" (reuse policies), spec/engine.md 1.2.
//
//   U1. `start` uses conflict policy FAIL, followed by a signal: USE_EXISTING would drop the wake.
//   U2. An ended run is started mayRepeat only if its subject, read mayRepeat, still requests it. A failed job is a run with status Failed; a terminated run is an
//       unfinished job.

import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
} from '@temporalio/client'
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common'

import type { OpenWing } from '../../activities/index.ts'
import { taskQueueOf, type TaskQueues } from './task-queues.ts'
import { type JobInput, type Notification, NOTIFICATION_RUN } from '../../workflows/kit/index.ts'

export interface Run {
  readonly controller: string
  /** The partition of its subject. */
  readonly lane?: string | undefined
  readonly workflowID: string
  readonly input: JobInput
}

export interface RunOptions extends TaskQueues {
  /** After this time, the server gives a workflow task to another worker. */
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
// A job has the same ID from the root down.
const ROOT_JOB_ID = defineSearchAttributeKey('PawlRootJobId', SearchAttributeType.KEYWORD)

/** Starts a run. @param mayRepeat whether a run of the same ID that has ended may be started mayRepeat (U2). @returns also whether a run is open or has ended. */
export async function startRun(
  client: Client,
  run: Run,
  options: RunOptions,
  mayRepeat: boolean,
): Promise<StartAnswer> {
  const { controller, workflowID, lane, input } = run
  const { subject, jobID } = input
  try {
    const handle = await client.workflow.start(controller, {
      workflowId: workflowID,
      taskQueue: taskQueueOf(options, controller, lane),
      args: [input],
      requestEagerStart: true,
      workflowTaskTimeout: options.workflowTaskTimeoutMs,
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.FAIL,
      workflowIdReusePolicy: mayRepeat ? WorkflowIdReusePolicy.ALLOW_DUPLICATE : WorkflowIdReusePolicy.REJECT_DUPLICATE,
      typedSearchAttributes: new TypedSearchAttributes([
        { key: GROUP, value: subject.group ?? '' },
        { key: KIND, value: subject.kind },
        { key: NAMESPACE, value: subject.namespace },
        { key: NAME, value: subject.name },
        { key: UID, value: subject.uid },
        // In level mode there is no job ID.
        ...(jobID === '' ? [] : [JOB_ID, ROOT_JOB_ID].map((key) => ({ key, value: jobID }))),
      ]),
      staticSummary: runSummary(input),
      staticDetails: runDetails(input),
    })
    return { answer: 'started', runID: handle.firstExecutionRunId }
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
    return { answer: (await findOpenRun(client, workflowID)) === undefined ? 'ended' : 'running' }
  }
}

/** Wakes a running run. Returns false if no run is open. */
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
  /** Attempts of the pending workflow task; 0 without one. */
  readonly attempts: number
}

/** The open run of this ID; undefined if Temporal has none. */
export async function findOpenRun(client: Client, workflowID: string): Promise<OpenRun | undefined> {
  try {
    const { runId: runID, status, taskQueue, raw } = await client.workflow.getHandle(workflowID).describe()
    return status.name === 'RUNNING' ? { runID, taskQueue, attempts: raw.pendingWorkflowTask?.attempt ?? 0 } : undefined
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined
    throw error
  }
}

// An empty poll lasts one minute; Temporal forgets a poller after five minutes.
const RECENT_POLL_MS = 120_000

/** Whether a worker has polled this queue for workflow tasks recently. */
export async function hasPollers(client: Client, taskQueue: string, now: Date): Promise<boolean> {
  return (await recentPollers(client, taskQueue, now)).length > 0
}

/** The identities of workers that have polled this queue for workflow tasks recently. */
export async function recentPollers(client: Client, taskQueue: string, now: Date): Promise<readonly string[]> {
  // Without a type, the server describes the queue of workflow tasks.
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: taskQueue },
  })
  const since = now.getTime() - RECENT_POLL_MS
  const recent = pollers.filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000 >= since)
  return recent.map(({ identity }) => identity ?? '')
}

/**
 * Terminates a run that no worker of its queue can continue, so that it can be started mayRepeat.
 *
 * @param runID default: the newest run of the ID.
 */
export async function terminateRun(client: Client, workflowID: string, why: string, runID?: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowID, runID).terminate(why)
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error
  }
}

// The summary and details of a run in Temporal's UI, in Markdown. Pure. The run itself reports its passes: workflows/kit/run/loop/temporal.ts.

type DescribedInput = Pick<JobInput, 'subject' | 'jobID' | 'cause'>

/** The object of the run. */
export function runSummary({ subject: { kind, namespace, name } }: Pick<DescribedInput, 'subject'>): string {
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`
}

/** The job ID, the cause of the start, and the command that replays the run. */
export function runDetails({ subject, jobID, cause }: DescribedInput): string {
  return [
    ...(jobID === '' ? [] : [`Job ${jobID}.`]),
    `Cause: ${cause}.`,
    `Replay: \`${replayCommand(subject, jobID)}\``,
  ].join(' ')
}

/** In level mode there are no jobs: without a job ID the command replays the newest run. */
function replayCommand({ kind, namespace, name }: DescribedInput['subject'], jobID: string): string {
  const job = jobID === '' ? '' : ` ${jobID}`
  return `pawl replay ${kind.toLowerCase()}/${name}${job}${namespace === '' ? '' : ` -n ${namespace}`}`
}

// Starts the workflows that send notifications, on the task queue of the controller whose Events they report: its workers have the notifiers.

type Notifiers = NonNullable<OpenWing['notifiers']>

/** @param of returns the notifiers of the controller's wing. */
export function createNotificationStarter(
  client: Client,
  queues: TaskQueues,
  of: (controller: string) => Notifiers | undefined,
) {
  return {
    of,
    known: new Set<string>(),
    async start(notice: Notification): Promise<void> {
      const { id, controller, notifier, reason, subject } = notice
      try {
        await client.workflow.start(NOTIFICATION_RUN, {
          workflowId: id,
          taskQueue: taskQueueOf(queues, controller),
          args: [notice],
          // A notification that was sent, or given up, is not sent mayRepeat.
          workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
          staticSummary: `${notifier}: ${reason} of ${subject.kind} ${subject.name}`,
        })
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
      }
    },
  }
}
