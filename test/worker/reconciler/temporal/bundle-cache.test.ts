// The conditions under which a cached bundle is used. The builder is a fake; bundle.test.ts has the real one.

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
        return { code, inputs: { files: [module, root, join(root, 'scratch/entry.js')], missing: [missing] } }
      },
    )
  const kept = async () => (await readdir(folder)).map((name) => join(folder, name))
  return { root, folder, module, missing, write, bundle, kept, failures, count: () => count }
}

describe('a cached bundle', () => {
  it('is used without another build', async () => {
    const { bundle, count } = await project()
    const first = await bundle()
    expect(await bundle()).toBe(first)
    expect(count()).toBe(1)
  })

  it('is built again after a change of an input file, and used again when the file is restored', async () => {
    const { bundle, count, write, module } = await project()
    await bundle()
    // Same length and modification time.
    await write(module, 'two')
    expect(await bundle()).toContain('code of two')
    expect(await bundle()).toContain('code of two')
    expect(count()).toBe(2)
  })

  it('is built again if a file now exists that the bundler did not find', async () => {
    const { bundle, count, write, missing } = await project()
    await bundle()
    await write(missing, 'in front of it')
    await bundle()
    expect(count()).toBe(2)
  })

  it('is built again after a change of the compiler configuration', async () => {
    const { root, bundle, count, write } = await project()
    await bundle()
    await write(join(root, '.swcrc'), '{}')
    await bundle()
    expect(count()).toBe(2)
  })

  it('is separate for each set of options', async () => {
    const { bundle, count } = await project()
    expect(await bundle({ names: ['a'] })).not.toBe(await bundle({ names: ['b'] }))
    await bundle({ names: ['a'] })
    expect(count()).toBe(2)
  })

  it.each([
    ['cut off', (text: string) => text.slice(0, -1)],
    ['changed', (text: string) => text.replace('code of', 'cope of')],
    ['without its head', (text: string) => text.slice(text.indexOf('\n') + 1)],
    ['empty', () => ''],
  ])('is made anew when it is %s', async (_, damage) => {
    const { bundle, count, kept } = await project()
    const first = await bundle()
    const [file] = await kept()
    await writeFile(file!, damage(await readFile(file!, 'utf8')))
    expect(await bundle()).toBe(first)
    expect(await bundle()).toBe(first)
    expect(count()).toBe(2)
  })

  it('is not stored if an input changed during the build', async () => {
    const { bundle, count, write, module } = await project()
    const late = async () => await write(module, 'new', new Date(Date.now() + 60_000))
    expect(await bundle({}, late)).toContain('code of one')
    await write(module, 'new')
    expect(await bundle()).toContain('code of new')
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
    const { folder, bundle, kept, count, write } = await project()
    await mkdir(folder)
    await write(join(folder, 'dead.part'), 'half')
    await writeFile(join(folder, 'alive.part'), 'half')
    for (let index = 0; index < 8; index += 1) {
      const before = new Set(await readdir(folder))
      await bundle({ index })
      const added = (await kept()).filter((file) => !before.has(file.slice(folder.length + 1)))
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
