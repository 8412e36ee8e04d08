// What a webhook of a target says about an object that it denies, without what stands in the object: templates may have filled it with secrets,
// and a webhook quotes as it likes.

import type { KubeError } from '../../../kube/errors.ts'
import { withoutSent } from '../../../kube/sent-texts.ts'

// Before it stand the request and who denies.
const SENTENCE = /^[^]*? denied (?:the )?request: /
// Whatever a webhook says, what is looked through is short.
const LONGEST = 2000

/** @param body the request body; its texts are removed (sent-texts.ts). */
export function withoutTexts(error: KubeError, body: unknown): KubeError {
  const message = error.message.slice(0, LONGEST)
  const [head] = SENTENCE.exec(message) ?? []
  if (head === undefined) return error
  const sentence = message.slice(head.length)
  return error.saying(head + withoutSent(sentence, body))
}
