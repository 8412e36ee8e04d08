// Starts the runs that bring notices (workflows/kit/run/notification.ts): on the queue of the controller whose Events they tell, whose workers have its notifiers.

import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowIdReusePolicy } from '@temporalio/client'

import type { OpenWing } from '../../activities/index.ts'
import { type Notification, NOTIFICATION_RUN } from '../../workflows/kit/index.ts'
import { type Queues, queueOf } from './queues.ts'

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
