# A small image: the broker, its libraries, a volume for the data.
FROM python:3.13-slim AS build
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --wheel-dir /wheels .

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links=/wheels kafkalite \
 && useradd --system --create-home kafkalite \
 && install -d -o kafkalite /var/lib/kafkalite /var/lib/zookeeper
# The paths at which Testcontainers' modules start the images apache/kafka and confluentinc/cp-kafka.
COPY container/ /
RUN chown -R kafkalite /etc/confluent/docker
USER kafkalite
WORKDIR /home/kafkalite
VOLUME /var/lib/kafkalite
# 9644 is for --control-port 9644, which opens beyond the container with a token only.
EXPOSE 9092 9644
# Kafka's own names: any server property can be set as KAFKA_..., as with the apache/kafka image.
# Clients connect to the advertised address, which is PLAINTEXT://localhost:9092 if nothing says
# where to listen. Set KAFKA_ADVERTISED_LISTENERS when they are not on the Docker host, e.g. to
# PLAINTEXT://kafkalite:9092 inside a compose network: the broker listens at the ports in it.
ENV KAFKA_LOG_DIRS=/var/lib/kafkalite
# Commands in the container (docker exec) find the broker by its ready file there.
ENV XDG_RUNTIME_DIR=/tmp
ENTRYPOINT ["kafkalite-entrypoint"]
HEALTHCHECK --interval=2s --timeout=2s --retries=15 \
  CMD ["kafkalite-health"]
