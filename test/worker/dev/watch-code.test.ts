import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { describe, expect, it, onTestFinished, vi } from 'vitest'

import { codeFiles, watchCode } from '../../../worker/dev/watch-code.ts'
import { scratchFolder } from './scratch.ts'

// The file system reports changes with a delay.
const PATIENT = { timeout: 8000 }

async function project(): Promise<string> {
  const dir = await scratchFolder()
  await mkdir(join(dir, 'parts'))
  const files = {
    'controllers.ts':
      "import { a } from './parts/a.ts'\nimport { defineLevel } from 'pawl/kit'\nexport const x = [a]\n",
    'parts/a.ts': "import type { B } from '../b.ts'\nexport * from './gone.ts'\nexport const a: B = 1\n",
    'b.ts': 'export type B = number\n',
    'other.ts': 'export {}\n',
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text)
  return dir
}

describe('the watched files of controllers', () => {
  it('are the modules and the files that they import by path', async () => {
    const dir = await project()
    const expected = ['controllers.ts', 'parts/a.ts', 'b.ts', 'parts/gone.ts'].map((name) => join(dir, name))
    expect([...(await codeFiles([join(dir, 'controllers.ts')]))].sort()).toEqual(expected.sort())
  })
})

describe('a change of code', () => {
  it('is reported once for several files and several writes; other files are ignored', async () => {
    const dir = await project()
    const told: string[] = []
    const watched = await watchCode([join(dir, 'controllers.ts')], (file) => Promise.resolve(void told.push(file)))
    onTestFinished(() => watched.close())
    await writeFile(join(dir, 'other.ts'), 'export const other = 1\n')
    await sleep(300)
    expect(told).toEqual([])
    await writeFile(join(dir, 'b.ts'), 'export type B = 1\n')
    await writeFile(join(dir, 'b.ts'), 'export type B = 1 | 2\n')
    await vi.waitFor(() => expect(told).toEqual(['b.ts']), PATIENT)
    await writeFile(join(dir, 'new'), "import './other.ts'\n")
    await rename(join(dir, 'new'), join(dir, 'parts/gone.ts'))
    await vi.waitFor(() => expect(told).toEqual(['b.ts', 'gone.ts']), PATIENT)
  })

  it('waits for the handler of the previous change', async () => {
    const dir = await project()
    let release: () => void = () => undefined
    const starts: string[] = []
    const watched = await watchCode([join(dir, 'controllers.ts')], async (file) => {
      starts.push(file)
      await new Promise<void>((resolve) => (release = resolve))
    })
    onTestFinished(() => watched.close())
    await writeFile(join(dir, 'b.ts'), '// 1\n')
    await vi.waitFor(() => expect(starts).toHaveLength(1), PATIENT)
    await writeFile(join(dir, 'b.ts'), '// 2\n')
    await sleep(300)
    expect(starts).toHaveLength(1)
    release()
    await vi.waitFor(() => expect(starts).toHaveLength(2), PATIENT)
    release()
  })
})
