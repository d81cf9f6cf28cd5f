package crdt

// pairWordList are the 256 words of [PairWords], in order. They are part of the format. No two
// share their first three letters or are fewer than three edits apart, so that a word heard over a
// bad line or typed in haste still is no other.
const pairWordList = `
acorn adobe agate album alley amber anchor angle april arena arrow aspen atlas attic autumn awning
badge baker bamboo banjo basil bench bison bonus bottle bread brick broom bucket buffalo butter cabin
cactus camel canoe cargo castle cedar cello cement chalk cherry chimney cinema circus clay clinic clover
cobalt coffee compass copper cosmos cotton coyote cradle cricket crown crystal cube curtain cushion daisy dancer
delta denim desert diamond dolphin domino donkey dragon drum echo eclipse elbow emerald engine fabric farmer
feather fiddle finger fjord flute forest fossil fridge frog galaxy garden gazelle geyser giraffe glacier gnome
goblet gorilla granite guitar harbor helmet heron hotel husky igloo indigo insect island ivory jaguar jasmine
javelin jigsaw judo juniper kayak kitchen kiwi knight koala ladder lagoon lantern laptop lasso lava lettuce
lilac linen lizard lobster lynx magnet maple memo mimosa mirror mitten mosaic muffin museum myth napkin
nebula nectar needle nephew nickel ninja nougat nugget nutmeg nylon oboe ocean octopus olive onion onyx
opera orange orchid oxygen panda papaya pebble pelican pencil piano picnic pillow pirate pixel poem polar
potato prairie prism pumpkin puppet purple quartz quilt rabbit raft rainbow raven reef rhubarb ribbon rodeo
rumba saffron sailor salmon saturn scarf school seal shadow sierra silver sketch slipper soccer sofa sphinx
spider sponge spruce squash statue stove sugar sunset sushi syrup taco teapot tennis thistle thunder thyme
toast topaz trout trumpet tulip tunnel tuxedo ukulele unicorn vanilla vapor vessel violin volcano vortex voyage
waffle walnut wasp wheat whisker window wolf xylem yacht yarn yogurt zebra zenith zigzag zinc zodiac
`
