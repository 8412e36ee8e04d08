// Recorded commands for which the simulator gives another result, with the reason. Everything else must be equal.
// An entry is `FOLDER/COMMAND FIELD...`; `shape` are the key paths of `status json`, other fields are in recordings.ts.

export interface KnownDifference {
  readonly reason: string
  readonly commands: readonly string[]
}

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    reason:
      'The machine of the recordings was busy, or the tool looks at another moment: up to some seconds more or less.',
    commands: [
      '08/105 seconds',
      '08/013 seconds',
      '08/039 seconds',
      '10/062 seconds',
      '19/025 seconds',
      '26/019 seconds',
      '30/007 seconds',
      '31/023 seconds',
      '33/022 seconds',
    ],
  },
  {
    reason: 'The simulator computes no advice, so `configure auto` answers at once.',
    commands: ['10/073 seconds', '10x/065 stderr seconds'],
  },
  {
    reason: 'A wait of 3 s and a time-out of 3 s end at the same moment.',
    commands: ['03/018 exit stdout stderr'],
  },
  {
    reason:
      'After a change of the coordinators without quorum the recorded database still gave read versions; the simulated one is unavailable.',
    commands: ['13/026 exit stdout stderr', '13/027 seconds', '13/028 seconds', '13/029 seconds'],
  },
  {
    reason: 'An internal format of FoundationDB, which no client reads.',
    commands: ['05/073 stdout', '23/073 stdout'],
  },
  {
    reason: 'The real tool crashed, or the recorder ended it before it wrote its buffered output.',
    commands: ['09/033 stderr', '23/123 stdout stderr', '23/124 stdout', '23/130 stderr'],
  },
  {
    reason: 'A client with fewer coordinators in its file computes a smaller fault tolerance.',
    commands: ['09/030 faultTolerance', '09/031 stdout'],
  },
  {
    reason:
      'The simulator gives roles, coordinators and shards to other processes than FoundationDB, which chooses by load.',
    commands: [
      '08/100 processes',
      '08/109 processes',
      '08/111 processes',
      '08/094 processes',
      '09/046 stdout',
      '09/047 coordinators processes',
      '09/050 shape healthy coordinators generations data trackers processes',
      '10/113 shape roles',
      '10b/003 shape roles',
      '10x/067 shape roles',
      '13/035 shape healthy data trackers processes',
      '13/036 stdout',
      '13/037 processes',
      '14/007 shape recovery',
      '14/027 shape recovery data trackers',
      '14/028 stdout',
      '16a/002 processes',
      '18/002 coordinators processes',
      '25/015 seconds shape available messages recovery layers roles processes data configuration faultTolerance lock',
      '26/020 shape healthy data trackers',
      '26/024 stdout stderr',
      '28/008 stderr',
      '29/007 shape healthy data trackers',
      '30/006 shape roles',
      '33/014 shape recovery processes',
    ],
  },
  {
    reason:
      'The recorded data distributor starts again a few seconds earlier or later, or repairs more than the simulated one.',
    commands: [
      '10/115 shape healthy data trackers faultTolerance',
      '10/048 shape data trackers',
      '10b/001 shape healthy data trackers configuration faultTolerance',
      '19/014 shape healthy messages recovery data trackers',
      '19/015 shape data trackers',
      '19/016 shape data trackers',
      '19/017 stdout',
      '19/018 stdout',
      '26/008 shape data trackers',
      '26/015 shape data trackers',
    ],
  },
  {
    reason: 'The simulator leaves figures out for one second after a recovery; FoundationDB for 0 to 5 seconds.',
    commands: [
      '10b/008 seconds shape available healthy messages recovery generations data configuration processes',
      '11/024 shape',
      '12/001 stderr seconds shape messages recovery processes',
      '12/003 shape recovery',
      '12/007 shape recovery',
      '12/008 shape healthy messages',
      '13/004 seconds shape processes',
      '25/003 healthy',
      '25/005 healthy',
      '25/011 healthy generations',
      '25/012 healthy generations',
      '28/037 faultTolerance',
      '28/038 shape healthy messages faultTolerance processes',
      '33/003 shape healthy messages recovery',
      '33/004 stdout',
      '33/025 shape healthy messages recovery data trackers',
    ],
  },
  {
    reason:
      'The simulator has no replacement of storage servers after a change of the engine, and drains old logs in a fixed time.',
    commands: ['10/075 shape healthy generations processes', '10/079 generations'],
  },
  {
    reason:
      'The real database was slow or refused connections for a while: FORCE took 11.8 s, handshakes of TLS failed.',
    commands: ['10/114 stderr seconds', '33/017 stdout stderr seconds', '33/024 stdout seconds'],
  },
]
