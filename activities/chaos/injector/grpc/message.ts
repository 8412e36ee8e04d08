// The messages of the service disruptionlistener.DisruptionListener as protocol buffers. Source: spec/chaos.md 3.8 and the public definition of
// the service: DisruptionSpec { 1: endpoints }, EndpointSpec { 1: targetEndpoint, 2: alterations }, AlterationSpec { 1: errorToReturn,
// 2: overrideToReturn, 3: queryPercent }.

import type { EndpointAlteration } from '../../../../workflows/chaos/injector/invocation.ts'

/** The alterations of each endpoint together, in the order in which they were said. */
export function encodeDisruption(alterations: readonly EndpointAlteration[]): Buffer {
  const endpoints = [...new Set(alterations.map(({ endpoint }) => endpoint))]
  return Buffer.concat(
    endpoints.map((endpoint) => {
      const own = alterations.filter((one) => one.endpoint === endpoint)
      return bytesField(1, Buffer.concat([textField(1, endpoint), ...own.map((one) => bytesField(2, alteration(one)))]))
    }),
  )
}

function alteration({ alteration: what, percent }: EndpointAlteration): Buffer {
  const text = 'error' in what ? textField(1, what.error) : textField(2, what.override)
  return percent === 0 ? text : Buffer.concat([text, Buffer.from([3 << 3]), varint(percent)])
}

function textField(number: number, text: string): Buffer {
  return bytesField(number, Buffer.from(text))
}

function bytesField(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2]), varint(bytes.length), bytes])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let left = value
  for (; left > 127; left >>>= 7) bytes.push((left & 127) | 128)
  return Buffer.from([...bytes, left])
}
