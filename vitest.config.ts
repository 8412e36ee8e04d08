// Which tests run how. Projects that need servers share one set of them (test/support/servers/servers.ts).

import { defineConfig } from 'vitest/config'

import { readSeed } from './test/support/matrix/seed.ts'

// Test processes inherit the seed: all of them choose from the test matrices by the same one.
process.env['PAWL_SEED'] = String(readSeed())

const servers = { globalSetup: ['test/support/servers/servers.ts'] }

/** Measures what each test file costs. */
const costs = { setupFiles: ['test/support/costs/measure-file.ts'] }

/** Each file in what the one before has loaded: to load everything anew is much of what a file costs. What a file fakes or sets it takes back. */
const loaded = { isolate: false }

// eslint-disable-next-line no-restricted-syntax -- vitest reads the default export
export default defineConfig({
  test: {
    // Two cores are usual; the servers want their share. Three files at a time were tried: nothing is won, both cores are busy with two.
    maxWorkers: 2,
    // What is awaited may take long on a machine that others share; only a failure takes all of it.
    expect: { poll: { timeout: 30_000 } },
    // At the end the audit log of the whole run is read (test/support/rights/rights-audit.ts); a process that is ended meanwhile would end well.
    teardownTimeout: 180_000,
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'test/{workflows,activities,worker,types,docs,bench,examples,support}/**/*.test.ts',
            'test/architecture.test.ts',
          ],
          testTimeout: 20_000,
          ...costs,
          ...loaded,
        },
      },
      {
        test: {
          name: 'replay',
          include: ['test/replay/**/*.test.ts'],
          testTimeout: 240_000,
          hookTimeout: 240_000,
          ...costs,
        },
      },
      // The npm package, made and installed; no servers.
      { test: { name: 'package', include: ['test/package/**/*.test.ts'], testTimeout: 60_000, ...costs } },
      {
        test: {
          name: 'workflow',
          include: ['test/workflow-runs/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          ...costs,
          ...servers,
        },
      },
      {
        test: {
          name: 'env',
          include: ['test/env/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          ...costs,
          ...servers,
          ...loaded,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          // Any process may stand still for a while, and what a dead one had in hand is free again only when its lease is over.
          expect: { poll: { timeout: 60_000 } },
          testTimeout: 240_000,
          hookTimeout: 240_000,
          ...costs,
          ...servers,
          ...loaded,
        },
      },
    ],
  },
})
