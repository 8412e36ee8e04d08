// Tests after which timeouts the client stops requests to a Target's server: if the server answers nothing, not if only
// a large page takes too long.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { listObjects } from '../../../../../activities/landscaper/deploy/target/answers.ts'
import { TargetClient } from '../../../../../activities/landscaper/deploy/target/target-client.ts'
import { ScriptedServer } from '../../../../support/servers/scripted-server.ts'

const PATH = '/api/v1/namespaces/n/configmaps'

let server: ScriptedServer
let client: TargetClient
/** The limit of each request. */
let asked: number[]
/** The server does not answer requests with a higher limit. */
let most: number

beforeEach(async () => {
  asked = []
  server = await ScriptedServer.start((request, response) => {
    const limit = Number(new URL(request.url ?? '', 'http://x').searchParams.get('limit'))
    asked.push(limit)
    if (limit > most) return
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ metadata: {}, items: [{ metadata: { name: 'a' } }] }))
  })
  client = new TargetClient({
    access: { server: server.url, isInsecure: false, credentials: { token: 't' } },
    // The clock stands still, so that the silence does not expire.
    now: () => new Date(0),
    refused: (error) => error,
    longestReadMs: 300,
  })
})
afterEach(async () => {
  await client.close()
  await server.stop()
})

async function list(): Promise<string[]> {
  const names: string[] = []
  const { signal } = new AbortController()
  const tooMany = () => new Error('too many')
  for await (const { metadata } of listObjects(client, PATH, { signal, tooMany })) names.push(metadata.name)
  return names
}

describe('a list that a Target does not return in time', () => {
  it('is requested in smaller pages, and stops no other requests', async () => {
    most = 30
    expect(await list()).toEqual(['a'])
    expect(asked).toEqual([200, 25])
    expect(client.silence).toBeUndefined()
  })

  it('stops all requests if the smallest page does not come, either', async () => {
    most = 0
    await expect(list()).rejects.toMatchObject({ reason: 'Unreachable' })
    expect(asked).toEqual([200, 25, 3])
    expect(client.silence).toMatchObject({ reason: 'Unreachable' })
  })
})

it('a single object that does not come stops all requests', async () => {
  most = -1
  await expect(client.request('GET', `${PATH}/a`)).rejects.toMatchObject({ reason: 'Unreachable' })
  expect(client.silence).toBeDefined()
})
