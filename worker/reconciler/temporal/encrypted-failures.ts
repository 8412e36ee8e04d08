// Encrypts messages and stacks of failures with the payload codec. Part of the workflow bundle and of the worker if a payload key is configured.

import { DefaultFailureConverter } from '@temporalio/common'

/** Temporal requires this name. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true })
