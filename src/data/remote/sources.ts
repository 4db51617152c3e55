/** A file by the SHA-256 of its content, in hexadecimal. */
export interface KnownFile {
  readonly name: string
  readonly sha256: string
}

/** A file that is fetched, by the SHA-256 of its bytes. */
export interface RemoteFile extends KnownFile {
  readonly bytes: number
  /** Folders that have a file of this name, in the order in which they are tried. */
  readonly mirrors: readonly string[]
  /** The files of the data set that it has, unpacked: itself, or those of an archive (.tar.gz). */
  readonly contents: readonly KnownFile[]
}

/** Where a published data set comes from. */
export interface Source {
  /** The folder below the data folder into which its files are written. */
  readonly folder: string
  readonly files: readonly RemoteFile[]
}

/** The name under which a data set is fetched: CIFAR-100 has two. */
export function sourceOf(data: string): string {
  return data === 'cifar-100-coarse' ? 'cifar-100' : data
}

/** Whether a file is an archive, whose files are kept in place of it. */
export function isArchive({ name }: RemoteFile): boolean {
  return name.endsWith('.tar.gz')
}

const MNIST = source(
  'mnist',
  ['https://ossci-datasets.s3.amazonaws.com/mnist', 'https://storage.googleapis.com/cvdf-datasets/mnist'],
  [
    [
      'train-images-idx3-ubyte',
      9912422,
      '440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609',
      'ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db'
    ],
    [
      'train-labels-idx1-ubyte',
      28881,
      '3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c',
      '65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5'
    ],
    [
      't10k-images-idx3-ubyte',
      1648877,
      '8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6',
      '0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7'
    ],
    [
      't10k-labels-idx1-ubyte',
      4542,
      'f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6',
      'ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2'
    ]
  ]
)

const FASHION_MNIST = source(
  'fashion-mnist',
  [
    'https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion',
    'http://fashion-mnist.s3-website.eu-central-1.amazonaws.com'
  ],
  [
    [
      'train-images-idx3-ubyte',
      26421880,
      '3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84',
      'c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888'
    ],
    [
      'train-labels-idx1-ubyte',
      29515,
      'a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845',
      'bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9'
    ],
    [
      't10k-images-idx3-ubyte',
      4422102,
      '346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073',
      '5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b'
    ],
    [
      't10k-labels-idx1-ubyte',
      5148,
      '67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5',
      '0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34'
    ]
  ]
)

const TORONTO = ['https://www.cs.toronto.edu/~kriz']

const CIFAR_10_BATCHES: readonly KnownFile[] = [
  { name: 'data_batch_1.bin', sha256: 'cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5' },
  { name: 'data_batch_2.bin', sha256: 'a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed' },
  { name: 'data_batch_3.bin', sha256: 'bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67' },
  { name: 'data_batch_4.bin', sha256: '014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48' },
  { name: 'data_batch_5.bin', sha256: '755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add' },
  { name: 'test_batch.bin', sha256: '8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b' }
]

const CIFAR_100_PARTS: readonly KnownFile[] = [
  { name: 'train.bin', sha256: 'f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29' },
  { name: 'test.bin', sha256: 'd8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a' }
]

const SHAKESPEARE_SUM = '86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed'

const SHAKESPEARE: RemoteFile = {
  name: 'input.txt',
  bytes: 1_115_394,
  sha256: SHAKESPEARE_SUM,
  mirrors: ['https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare'],
  contents: [{ name: 'input.txt', sha256: SHAKESPEARE_SUM }]
}

/**
 * The sources of the data sets that `data get` fetches. The sums of the archives of CIFAR, and of the files of CIFAR-100, are those that
 * other projects publish; all others were also computed from the files themselves.
 */
export const SOURCES: ReadonlyMap<string, Source> = new Map([
  ['mnist', MNIST],
  ['fashion-mnist', FASHION_MNIST],
  [
    'cifar-10',
    archive('cifar-10', CIFAR_10_BATCHES, {
      name: 'cifar-10-binary.tar.gz',
      bytes: 170_052_171,
      sha256: 'c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd'
    })
  ],
  [
    'cifar-100',
    archive('cifar-100', CIFAR_100_PARTS, {
      name: 'cifar-100-binary.tar.gz',
      bytes: 168_513_733,
      sha256: '58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec'
    })
  ],
  ['tinyshakespeare', { folder: 'tinyshakespeare', files: [SHAKESPEARE] }]
])

/** The published data sets, which `getData` fetches and `checkData` checks. */
export const remoteNames: readonly string[] = [...SOURCES.keys()]

/** Each with its bytes as .gz, and the sums of these and of their content. */
function source(
  folder: string,
  mirrors: readonly string[],
  files: readonly (readonly [name: string, bytes: number, packed: string, content: string])[]
): Source {
  return {
    folder,
    files: files.map(([name, bytes, sha256, content]) => ({
      name: `${name}.gz`,
      bytes,
      sha256,
      mirrors,
      contents: [{ name, sha256: content }]
    }))
  }
}

function archive(folder: string, contents: readonly KnownFile[], file: Omit<RemoteFile, 'mirrors' | 'contents'>): Source {
  return { folder, files: [{ ...file, mirrors: TORONTO, contents }] }
}
