// Names of files in bundles, which are equal on all machines.

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

import { PackageFolders, packageOf, portableName, ROOT } from '../../../../worker/reconciler/temporal/portable-names.ts'

describe('the portable name of a file', () => {
  it.each([
    [join(ROOT, 'workflows/index.ts'), 'pawl/workflows/index.ts'],
    [join(ROOT, 'node_modules/long/index.js'), 'long/index.js'],
    ['/a/node_modules/@b/c/node_modules/@d/e/f.js', '@d/e/f.js'],
    ['/a/node_modules', undefined],
    ['/a/controllers.ts', undefined],
  ])('of %s is %s', (path, name) => {
    expect(portableName(path)).toBe(name)
  })

  it('begins with its package', () => {
    expect(['@d/e/f.js', 'long/index.js'].map(packageOf)).toEqual(['@d/e', 'long'])
  })
})

describe('the folders of packages', () => {
  it('are found from the package that imports them', () => {
    const folders = new PackageFolders([
      ['@temporalio/common', 'long'],
      ['pawl', '@temporalio/common'],
    ])
    expect(portableName(folders.path('long/index.js'))).toBe('long/index.js')
    expect(folders.path('pawl/workflows/index.ts')).toBe(join(ROOT, 'workflows/index.ts'))
    expect(folders.has('ms/index.js')).toBe(false)
  })

  it('must exist', () => {
    expect(() => new PackageFolders([['pawl', 'no-such-package']])).toThrow(
      'package "no-such-package" is missing, which "pawl" imports',
    )
  })
})
