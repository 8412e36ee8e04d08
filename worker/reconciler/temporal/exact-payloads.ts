// Numbers of user data keep their digits on the way to runs and back. In the bundle of the workflows, in the worker and in its client.
// The text is the JSON that Temporal's own converter writes, so former histories replay and other clients read it.

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

/** The name is what Temporal looks for. */
export const payloadConverter = new CompositePayloadConverter(
  new UndefinedPayloadConverter(),
  new BinaryPayloadConverter(),
  new ExactJsonConverter(),
)
