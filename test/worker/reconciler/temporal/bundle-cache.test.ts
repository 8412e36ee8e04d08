// The conditions under which a cached bundle is used. The builder is a fake; bundle.test.ts has the real one.

import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

import { cachedBundle } from '../../../../worker/reconciler/temporal/bundle-cache.ts'
import { scratchFolder } from '../../dev/scratch.ts'

const LONG_AGO = new Date('2026-01-01T00:00:00Z')

async function project() {
  const root = await scratchFolder()
  const [folder, module, missing] = [join(root, 'kept'), join(root, 'module.ts'), join(root, 'module.js')]
  const write = async (path: string, content: string, at = LONG_AGO) => {
    await writeFile(path, content)
    await utimes(path, at, at)
  }
  await write(module, 'one')
  let count = 0
  const failures: unknown[] = []
  const bundle = async (asked: object = {}, meanwhile: () => Promise<void> = () => Promise.resolve()) =>
    await cachedBundle(
      { folder, key: asked, scratch: join(root, 'scratch'), onError: (error) => failures.push(error) },
      async () => {
        count += 1
        const code = `code of ${await readFile(module, 'utf8')}\n${JSON.stringify(asked)}`
        await meanwhile()
        const isThere = existsSync(missing)
        const files = [module, root, join(root, 'scratch/entry.js'), ...(isThere ? [missing] : [])]
        return { code, inputs: { files, missing: isThere ? [] : [missing] } }
      },
    )
  const cachedFiles = async () => (await readdir(folder)).map((name) => join(folder, name))
  return { root, folder, module, missing, write, bundle, cachedFiles, failures, count: () => count }
}

describe('a cached bundle', () => {
  it('is used without another build, separately for each set of options', async () => {
    const { bundle, count } = await project()
    const first = await bundle({ names: ['a'] })
    expect(await bundle({ names: ['b'] })).not.toBe(first)
    expect(await bundle({ names: ['a'] })).toBe(first)
    expect(count()).toBe(2)
  })

  type Project = Awaited<ReturnType<typeof project>>
  const damage = (change: (text: string) => string) => async (of: Project) => {
    const [file] = await of.cachedFiles()
    await writeFile(file!, change(await readFile(file!, 'utf8')))
  }
  it.each<[string, string, (of: Project) => Promise<void>]>([
    // The new content has the same length and modification time.
    ['an input file is changed', 'two', ({ write, module }) => write(module, 'two')],
    ['a file exists that the bundler did not find', 'one', ({ write, missing }) => write(missing, 'in front of it')],
    ['the compiler configuration is changed', 'one', ({ write, root }) => write(join(root, '.swcrc'), '{}')],
    ['it is cut off', 'one', damage((text) => text.slice(0, -1))],
    ['it is changed', 'one', damage((text) => text.replace('code of', 'cope of'))],
    ['it is without its head', 'one', damage((text) => text.slice(text.indexOf('\n') + 1))],
    ['it is empty', 'one', damage(() => '')],
  ])('is built again, once, when %s', async (_, word, change) => {
    const of = await project()
    await of.bundle()
    await change(of)
    const second = await of.bundle()
    expect(second).toBe(`code of ${word}\n{}`)
    expect(await of.bundle()).toBe(second)
    expect(of.count()).toBe(2)
  })

  it.each(['module', 'missing'] as const)('is not stored if the %s file changed during the build', async (changed) => {
    const { bundle, count, write, module, missing } = await project()
    const path = { module, missing }[changed]
    const late = async () => await write(path, 'new', new Date(Date.now() + 60_000))
    expect(await bundle({}, late)).toContain('code of one')
    await write(path, 'new')
    expect(await bundle()).toContain(changed === 'module' ? 'code of new' : 'code of one')
    expect(count()).toBe(2)
  })

  it('is built each time if the folder is not writable, and the error is reported', async () => {
    const { folder, bundle, count, failures, write } = await project()
    await write(folder, 'a file in its place')
    expect(await bundle()).toBe(await bundle())
    expect(count()).toBe(2)
    expect(failures).toMatchObject([{ code: 'EEXIST' }, { code: 'EEXIST' }])
  })
})

describe('the cache folder', () => {
  it('keeps the most recently used bundles and removes unfinished files of crashed processes', async () => {
    const { folder, bundle, cachedFiles, count, write } = await project()
    await mkdir(folder)
    await write(join(folder, 'dead.part'), 'half')
    await writeFile(join(folder, 'alive.part'), 'half')
    for (let index = 0; index < 8; index += 1) {
      const before = new Set(await readdir(folder))
      await bundle({ index })
      const added = (await cachedFiles()).filter((file) => !before.has(file.slice(folder.length + 1)))
      expect(added).toHaveLength(1)
      const at = new Date(LONG_AGO.getTime() + index * 1000)
      await utimes(added[0]!, at, at)
    }
    await bundle({ index: 0 })
    expect(count()).toBe(8)
    await bundle({ index: 8 })
    const names = (await readdir(folder)).sort()
    expect(names.filter((name) => name.endsWith('.bundle'))).toHaveLength(8)
    expect(names.filter((name) => name.endsWith('.part'))).toEqual(['alive.part'])
    // The first entry was used again, the second one was evicted.
    await bundle({ index: 0 })
    expect(count()).toBe(9)
    await bundle({ index: 1 })
    expect(count()).toBe(10)
  })
})
