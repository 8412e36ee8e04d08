// The payload converter that keeps all digits of integers in user data: an integer that a double cannot hold is a
// `bigint` in JavaScript (exact-json.ts). Part of the workflow bundle, of the worker and of its client.
//
// The encoding is `json/plain`, as of Temporal's own JSON converter, and all values without a `bigint` have the same
// text as there. So histories from before this converter replay, and other clients can read the payloads.

import {
  BinaryPayloadConverter,
  CompositePayloadConverter,
  JsonPayloadConverter,
  METADATA_ENCODING_KEY,
  type Payload,
  type PayloadConverterWithEncoding,
  UndefinedPayloadConverter,
  ValueError,
} from '@temporalio/common'

import { readJson, writeJson } from '../../../workflows/kit/kind/exact-json.ts'

// Text to bytes, and bytes to text.
const words = new TextEncoder()
const texts = new TextDecoder()

class ExactJsonConverter implements PayloadConverterWithEncoding {
  // Used only for its `encodingType`, which is `json/plain`.
  readonly #plain = new JsonPayloadConverter()
  readonly encodingType = this.#plain.encodingType

  toPayload(value: unknown): Payload | undefined {
    if (value === undefined) return undefined
    // Like JSON.stringify, writeJson returns undefined for a function or a symbol; its declared type does not say so.
    const json = writeJson(value) as string | undefined
    if (json === undefined) return undefined
    return { metadata: { [METADATA_ENCODING_KEY]: words.encode(this.encodingType) }, data: words.encode(json) }
  }

  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- Temporal's interface lets the caller name the type of the value
  fromPayload<T>(payload: Payload): T {
    if (payload.data === undefined || payload.data === null) throw new ValueError('a payload has no data')
    return readJson(texts.decode(payload.data)) as T
  }
}

/** Temporal requires this name. */
export const payloadConverter = new CompositePayloadConverter(
  new UndefinedPayloadConverter(),
  new BinaryPayloadConverter(),
  new ExactJsonConverter(),
)
