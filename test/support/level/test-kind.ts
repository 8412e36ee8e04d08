// The fields that are equal in all kinds of tests on real servers.

export const TEST_KIND = {
  version: 'v1',
  shortNames: [],
  statusSubresource: true,
  printerColumns: [],
  description: 'For tests.',
  workerVerbs: ['patch'],
  projection: [],
} as const
