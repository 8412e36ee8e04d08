import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { drawTrace } from '../../../worker/plans/draw-trace.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'pawl-trace-'))
})
afterEach(() => rm(dir, { recursive: true }))

async function file(content: string): Promise<string> {
  const path = join(dir, 'pass.json')
  await writeFile(path, content)
  return path
}

const TRACE = {
  name: 'sequential',
  mark: 'fault',
  said: 'Forbidden: no (tried again)',
  children: [
    { name: 'first', mark: 'fault', said: 'Forbidden: no (tried again)', children: [] },
    { name: 'second', mark: 'skipped', children: [] },
  ],
}

describe('the trace of a pass in a file', () => {
  it('is drawn as text, as a flowchart, and as unchanged JSON', async () => {
    const path = await file(JSON.stringify(TRACE))
    expect((await drawTrace(path, 'text')).split('\n')).toEqual([
      ...['✗ sequential: Forbidden: no (tried again)', '├─ ✗ first: Forbidden: no (tried again)', '└─ – second', ''],
    ])
    expect(await drawTrace(path, 'mermaid')).toMatch(/^flowchart TD\n/)
    expect(JSON.parse(await drawTrace(path, 'json'))).toEqual(TRACE)
  })

  it.each(['', '{', '[]', '{"name":"a","mark":"green","children":[]}', '{"name":"a","mark":"ok","children":[1]}'])(
    'is rejected if the file contains no trace: %s',
    async (content) => {
      await expect(drawTrace(await file(content), 'text')).rejects.toThrow(/expected the trace/)
    },
  )

  it('is rejected if the file does not exist', async () => {
    await expect(drawTrace(join(dir, 'none'), 'text')).rejects.toThrow('cannot read the file (ENOENT)')
  })
})
