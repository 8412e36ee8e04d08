// The payload converter that keeps all digits of numbers in user data. Part of the workflow bundle, of the worker and of its client.
// It writes the same JSON as Temporal's own converter, so old histories replay, and other clients can read it.

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

const words = new TextEncoder()
const texts = new TextDecoder()

class ExactJsonConverter implements PayloadConverterWithEncoding {
  readonly #plain = new JsonPayloadConverter()
  readonly encodingType = this.#plain.encodingType

  toPayload(value: unknown): Payload | undefined {
    if (value === undefined) return undefined
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
