// Texts and stacks of failures go through the codec as well. In the bundle of the workflows of a worker with a payload key, and in that worker.

import { DefaultFailureConverter } from '@temporalio/common'

/** The name is what Temporal looks for. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true })
