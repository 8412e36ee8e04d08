// Removes contents of the object from the message of a webhook that denies it: templates may have filled the object with secrets, and a webhook may
// quote any field.

import type { KubeError } from '../../../kube/errors.ts'
import { withoutSentTexts } from '../../../kube/redact-message.ts'

// The beginning of the message: the request and the webhook.
const SENTENCE = /^[^]*? denied (?:the )?request: /
// Limit of the text that regular expressions search.
const LONGEST = 2000

/** @param body the request body; its texts are removed (sent-texts.ts). */
export function withoutTexts(error: KubeError, body: unknown): KubeError {
  const message = error.message.slice(0, LONGEST)
  const [head] = SENTENCE.exec(message) ?? []
  if (head === undefined) return error
  const sentence = message.slice(head.length)
  return error.withMessage(head + withoutSentTexts(sentence, body))
}
